package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"estream/lower/qnn/native"
)

// readDLC reads the archive that a DLC is; nil for another archive.
func readDLC(f io.ReaderAt, size int64) (*compiledInfo, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("a DLC, or another archive, that is cut or damaged: %w", err)
	}
	x := &compiledInfo{Kind: "DLC", Bytes: size, Graphs: []compiledGraph{}}
	known := false
	var model *zip.File
	for _, e := range z.File {
		x.Parts = append(x.Parts, compiledPart{e.Name, int64(e.UncompressedSize64)})
		switch {
		case e.Name == "model":
			model = e
		case strings.HasPrefix(e.Name, "dlc.metadata"):
			known = true
			if err := x.metadata(e); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
		}
	}
	if !known {
		return nil, nil
	}
	if model != nil {
		if err := x.model(model); err != nil {
			return nil, fmt.Errorf("%s: %w", model.Name, err)
		}
	}
	return x, nil
}

// model reads the graphs.
func (x *compiledInfo) model(e *zip.File) error {
	data, err := readPart(e, maxCompiled)
	if err != nil {
		return err
	}
	graphs, err := native.ReadDLC(data)
	if errors.Is(err, native.ErrDLCForm) {
		x.Unread, err = err.Error(), nil
	}
	x.Graphs = graphsOf(graphs)
	return err
}

func (x *compiledInfo) metadata(e *zip.File) error {
	text, err := readPart(e, 1<<20)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		x.lines(string(text))
		return nil
	}
	var m struct {
		Header struct {
			Timestamp string `json:"timestamp"`
		} `json:"header"`
		Made []struct {
			Command struct {
				Tool    string `json:"tool"`
				Version string `json:"converterVersion"`
			} `json:"converterCommand"`
		} `json:"dlcGenerationInfo"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	x.Made = m.Header.Timestamp
	if len(m.Made) > 0 {
		x.Tool, x.SDK = m.Made[0].Command.Tool, m.Made[0].Command.Version
	}
	return nil
}

// lines reads metadata as older converters write it, which does not tell when.
func (x *compiledInfo) lines(text string) {
	for line := range strings.Lines(text) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "converter-command":
			x.Tool, _, _ = strings.Cut(value, " ")
		case "converter-version":
			x.SDK = value
		}
	}
}

// readPart returns what a part of an archive holds, at most so much.
func readPart(e *zip.File, most int64) ([]byte, error) {
	r, err := e.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err = errors.Join(err, r.Close()); err == nil && int64(len(data)) > most {
		err = fmt.Errorf("more than %d bytes, which is the most that is read of it", most)
	}
	return data, err
}

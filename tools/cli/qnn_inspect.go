package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
)

// A compiledInfo is a file that QNN's libraries made, as inspect shows it.
type compiledInfo struct {
	Kind   string          `json:"kind"` // context binary or DLC
	Bytes  int64           `json:"bytes"`
	SDK    string          `json:"sdk"`  // the QAIRT that made it
	For    string          `json:"for"`  // of a context binary: the chip
	Core   string          `json:"core"` // of a context binary: the version of the core API
	Tool   string          `json:"tool"` // of a DLC: what made it
	Made   string          `json:"made"` // of a DLC: when
	Graphs []compiledGraph `json:"graphs"`
	Parts  []compiledPart  `json:"parts"`            // of a DLC
	Unread string          `json:"unread,omitempty"` // of a DLC: why its graphs are not shown
}

type compiledGraph struct {
	Name    string           `json:"name"`
	Inputs  []compiledTensor `json:"inputs"`
	Outputs []compiledTensor `json:"outputs"`
}

type compiledTensor struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Dims []int  `json:"dims"`
}

type compiledPart struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// inspectCompiled shows a file that is a context binary of QNN's or a DLC, its
// tensors too if all is set; false if it is neither.
func (a *App) inspectCompiled(ctx context.Context, path string, f *pflag.FlagSet, asJSON, all bool) (bool, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	x, err := readCompiled(ctx, path)
	switch {
	case err != nil:
		return true, fmt.Errorf("%s: %w", path, err)
	case x == nil:
		return false, nil
	}
	for _, name := range []string{"ir", "legal", "graph", "html"} {
		if f.Changed(name) {
			return true, usagef("--%s is of packages, and %s is a %s: leave it out", name, path, x.Kind)
		}
	}
	if asJSON {
		return true, a.printJSON(x)
	}
	a.printCompiled(x, all)
	return true, nil
}

// maxCompiled bounds a file that is read.
const maxCompiled = 1 << 30

// readCompiled returns nil for a file that is of another kind.
func readCompiled(ctx context.Context, path string) (*compiledInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 8)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, nil // too short for either
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return readDLC(f, info.Size())
	case !bytes.Equal(head, []byte{0, 0, 0, 2, 0, 0, 0, 3}): // as QAIRT 2.47 to 2.51 begin theirs
		return nil, nil
	case info.Size() > maxCompiled:
		return nil, fmt.Errorf("a context binary of %d bytes, and the most that is read is %d", info.Size(), maxCompiled)
	}
	binary := make([]byte, info.Size())
	if _, err := f.ReadAt(binary, 0); err != nil {
		return nil, err
	}
	return readContext(ctx, binary)
}

// readContext has the vendor's library read a binary in a process of its own, since it
// may crash on a damaged one.
func readContext(ctx context.Context, binary []byte) (*compiledInfo, error) {
	set, err := find.Here().SearchFor("", "system")
	if err != nil {
		return nil, fmt.Errorf("a context binary, which QNN's own library reads: %w", err)
	}
	child := qnnOptions().Child
	if len(child.Command) == 0 {
		return nil, errors.New("a context binary, which a process of this program reads, and its own file is not known")
	}
	r, err := child.Run(ctx, &native.Job{Library: filepath.Join(set.Path, "libQnnSystem.so"), Describe: binary})
	if err != nil {
		return nil, fmt.Errorf("it is damaged, or of a later QAIRT: %w", err)
	}
	m := r.Metadata
	x := &compiledInfo{Kind: "context binary", Bytes: int64(len(binary)), SDK: strings.TrimPrefix(m.BuildID, "v"), Core: m.Core.String(), Graphs: graphsOf(m.Graphs)}
	x.For = fmt.Sprintf("backend %d", m.Backend)
	if chip, ok := find.ByModel(m.SoC); ok {
		x.For = chip.String()
	} else if m.SoC != 0 {
		x.For = fmt.Sprintf("chip %d", m.SoC)
	}
	return x, nil
}

func graphsOf(list []native.Signature) []compiledGraph {
	out := []compiledGraph{}
	for _, g := range list {
		out = append(out, compiledGraph{g.Graph, tensorsOf(g.In), tensorsOf(g.Out)})
	}
	return out
}

func tensorsOf(ports []native.Port) []compiledTensor {
	out := []compiledTensor{}
	for _, p := range ports {
		out = append(out, compiledTensor{p.Name, p.Type.String(), p.Dims})
	}
	return out
}

func (a *App) printCompiled(x *compiledInfo, all bool) {
	p := a.print
	if x.Kind == "DLC" {
		made := ""
		if x.Made != "" {
			made = ", " + x.Made
		}
		p("dlc       %s, by %s of QAIRT %s%s", formatSize(x.Bytes), cmp.Or(x.Tool, "an unnamed tool"), cmp.Or(x.SDK, "unknown"), made)
	} else {
		p("binary    %s, for %s, by QAIRT %s, core API %s", formatSize(x.Bytes), x.For, x.SDK, x.Core)
	}
	for _, part := range x.Parts {
		p("part      %s: %s", part.Name, formatSize(part.Bytes))
	}
	if x.Unread != "" {
		p("graphs    not shown: %s", x.Unread)
	}
	for _, g := range x.Graphs {
		p("graph     %s: %d inputs, %d outputs", g.Name, len(g.Inputs), len(g.Outputs))
		if !all {
			continue
		}
		for _, side := range []struct {
			name string
			list []compiledTensor
		}{{"input", g.Inputs}, {"output", g.Outputs}} {
			for _, t := range side.list {
				p("  %-7s %s %s%v", side.name, t.Name, t.Type, t.Dims)
			}
		}
	}
}

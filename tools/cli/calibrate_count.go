package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
	"estream/tools/calibrate"
)

// countRoutes runs the text on the host, and returns how many experts a call has.
func (a *App) countRoutes(ctx context.Context, dir string, f calibrateFlags, text [][]int32, c *calibrate.Counter) (call int, err error) {
	f.backend = "host"
	o, err := a.prepare(f.runFlags)
	if err != nil {
		return 0, err
	}
	c.Watch(&o)
	m, err := opened(ctx, dir, o)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	total := tokensOf(text)
	begun := time.Now()
	shown := begun
	for _, prompts := range batched(text, f.batch) {
		res, err := m.Run(ctx, runtime.Batch{Prompts: prompts, Logits: runtime.None})
		c.End(err == nil)
		if err != nil {
			return call, err
		}
		call = res.Plan.Geometry.Group
		if now := time.Now(); now.Sub(shown) > 5*time.Second {
			shown = now
			a.note("calibrating %d %% of %d tokens, %.0f tokens/s", 100*c.Tokens()/total, total, float64(c.Tokens())/now.Sub(begun).Seconds())
		}
	}
	return call, nil
}

// batched puts sequences into runs of about eight batches of tokens.
func batched(text [][]int32, batch int) (runs [][][]int32) {
	const together = 8
	room := 0
	for _, s := range text {
		if room < len(s) {
			runs, room = append(runs, nil), together*batch
		}
		last := &runs[len(runs)-1]
		*last, room = append(*last, s), room-len(s)
	}
	return runs
}

// sequences returns the text's tokens in sequences of at most a batch.
func (a *App) sequences(ctx context.Context, dir string, f calibrateFlags) (text [][]int32, err error) {
	var whole [][]int32
	if f.tokensFile != "" {
		whole, err = readTokens(ctx, f.tokensFile)
	} else {
		whole, err = a.encodeFiles(ctx, dir, f.text)
	}
	if err != nil {
		return nil, err
	}
	if total := tokensOf(whole); total < f.batch {
		return nil, fmt.Errorf("%d tokens of text, want %d, one batch, or more: give more text, or a smaller --batch", total, f.batch)
	}
	for _, ids := range whole {
		text = slices.AppendSeq(text, slices.Chunk(ids, f.batch))
	}
	return text, nil
}

func tokensOf(text [][]int32) (n int) {
	for _, ids := range text {
		n += len(ids)
	}
	return n
}

func (a *App) encodeFiles(ctx context.Context, dir string, files []string) ([][]int32, error) {
	m, err := a.look(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	tok, err := openTokenizer(m)
	if err != nil {
		return nil, err
	}
	if tok == nil {
		return nil, fmt.Errorf("the package has no tokenizer.json: give token ids with --tokens-file")
	}
	var out [][]int32
	for _, file := range files {
		texts, err := readTexts(ctx, file)
		if err != nil {
			return nil, err
		}
		for i, t := range texts {
			ids, err := tok.Encode(t, true)
			if err != nil {
				return nil, fmt.Errorf("%s, text %d: %w", file, i, err)
			}
			out = append(out, ids)
		}
	}
	return out, nil
}

// readTexts returns the texts of a file: one, or with a name in .jsonl an object a
// line.
func readTexts(ctx context.Context, path string) ([]string, error) {
	data, err := readFile(ctx, path, maxPrompts)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) != ".jsonl" {
		return []string{string(data)}, nil
	}
	var out []string
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var v struct{ Text *string }
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && v.Text == nil {
			err = errors.New(`it has no "text"`)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, object %d: %w", path, len(out), err)
		}
		out = append(out, *v.Text)
	}
}

// measureLaunches runs two sequences of the text on the device.
func (a *App) measureLaunches(ctx context.Context, dir string, f calibrateFlags, w calibrate.Wish, text [][]int32, t *calibrate.Timing) error {
	o, err := a.prepare(f.runFlags)
	if err != nil {
		return err
	}
	b, ok := o.Device.(*static.Backend)
	if !ok {
		return usagef("--backend %s: it has no graphs of fixed sizes that could be measured", f.backend)
	}
	tiers := b.Tiers()
	tiers.G = w.Groups
	if tiers.R = w.Rows; len(tiers.R) == 0 {
		tiers.R = slices.Compact([]int{1, max(1, f.batch/16), max(1, f.batch/4), f.batch})
	}
	cost := passes.Cost{Launch: 1, Row: 1 / float64(f.batch)}
	o.Once = true // one batch
	o.Device, o.Events = b.With(tiers, static.Policy{Cost: cost, Report: t.Report}), t.Event
	m, err := opened(ctx, dir, o)
	if err != nil {
		return err
	}
	defer m.Close()
	a.note("measuring launches on %s", f.backend)
	_, err = m.Run(ctx, runtime.Batch{Prompts: text[:min(2, len(text))], Logits: runtime.None})
	return err
}

// cost is what launches take: as given, as measured, or as assumed of the largest
// expert of the package.
func (a *App) cost(dir string, f calibrateFlags, t *calibrate.Timing) (passes.Cost, string, error) {
	module, manifest, err := a.stored(dir)
	if err != nil {
		return passes.Cost{}, "", err
	}
	var bytes, weights int64
	for _, r := range manifest.Experts {
		bytes = max(bytes, r.Length)
	}
	for _, g := range module.Callees() {
		n := int64(0)
		for _, w := range g.Weights() {
			elements := int64(1)
			for _, d := range w.Type.Dims {
				elements *= int64(d.N)
			}
			n += elements
		}
		weights = max(weights, n)
	}
	c, from := passes.AssumedCost(bytes, weights), "assumed of an expert's size"
	if t != nil {
		if measured, ok := t.Cost(); ok {
			c, from = measured, "measured on "+f.backend+" and the host"
		}
	}
	given := 0
	for name, to := range map[string]*float64{"launch-us": &c.Launch, "body-us": &c.Body, "row-us": &c.Row, "host-expert-us": &c.HostExpert, "host-row-us": &c.HostRow} {
		if us := *f.cost[name]; us >= 0 {
			*to = us / 1e6
			given++
		}
	}
	return c, cmp.Or(map[int]string{len(f.cost): "given", 0: from}[given], "in part given, "+from), nil
}

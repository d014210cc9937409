package runtime_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/layout"
	"estream/pager/pagertest"
	"estream/runtime"
	"estream/runtime/tokenizer"
)

var (
	shortOf   = flag.String("short-prompts", "", "print the table of short prompts for the trained checkpoint in this folder")
	shortRate = flag.Float64("short-rate", 100e6, "bytes a second that its sources let through")
)

// heldout is the tokens of the texts beside a trained checkpoint.
func heldout(t *testing.T, from string) [][]int32 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(from, "tokenizer.json"))
	require.NoError(t, err)
	tok, err := tokenizer.Parse("tokenizer.json", data)
	require.NoError(t, err)
	f, err := os.Open(filepath.Join(from, "heldout.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	var out [][]int32
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct{ Text string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		ids, err := tok.Encode(line.Text, true)
		require.NoError(t, err)
		out = append(out, ids)
	}
	require.NoError(t, lines.Err())
	return out
}

// A shortRun is what prompts of one length took under a schedule.
type shortRun struct {
	bytes, wasted int64
	times         []time.Duration
	guesses       []runtime.Guesses // summed by layer
}

func (s *shortRun) add(res *runtime.Result) {
	s.bytes, s.wasted = s.bytes+res.Stats.Bytes, s.wasted+res.Stats.Wasted
	s.times = append(s.times, res.Stats.Total)
	for i, g := range res.Stats.Guesses {
		if i == len(s.guesses) {
			s.guesses = append(s.guesses, runtime.Guesses{Layer: g.Layer})
		}
		to := &s.guesses[i]
		to.Guessed, to.Hit, to.Missed = to.Guessed+g.Guessed, to.Hit+g.Hit, to.Missed+g.Missed
	}
}

func (s *shortRun) median() time.Duration {
	slices.Sort(s.times)
	return s.times[len(s.times)/2]
}

// TestShortPromptsTable prints what docs/planner.md tells of short prompts: read and unneeded bytes and the median time
// of each schedule, then for each layer the share of wanted experts that were guessed, and of guesses that were wanted.
func TestShortPromptsTable(t *testing.T) {
	if *shortOf == "" {
		t.Skip("-short-prompts names no checkpoint")
	}
	dir, texts := packed(t, *shortOf, "w4"), heldout(t, *shortOf)
	inMem := inMemory(t, dir)
	rate, err := pager.NewRate(*shortRate, 0)
	require.NoError(t, err)
	limited := func(path string) (pager.Source, error) {
		src, err := inMem(path)
		return pager.Limit(src, rate), err
	}
	var reads, guesses strings.Builder
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64} {
		fmt.Fprintf(&reads, "| %d |", n)
		fmt.Fprintf(&guesses, "| %d |", n)
		for _, schedule := range []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.Guessed} {
			m, all := open(t, dir, runtime.Options{Schedule: schedule, Source: limited}), new(shortRun)
			for i, text := range texts {
				from := i * 7 % (len(text) - n)
				res := run(t, m, runtime.Batch{Prompts: [][]int32{text[from : from+n]}})
				if i > 0 { // the first reads what stays
					all.add(res)
				}
			}
			runs := float64(len(all.times))
			fmt.Fprintf(&reads, " %.2f MB, %.2f, %.1f ms |", float64(all.bytes)/runs/1e6, float64(all.wasted)/runs/1e6, float64(all.median())/1e6)
			for _, g := range all.guesses {
				fmt.Fprintf(&guesses, " %.1f: %.0f, %.0f %% |", float64(g.Hit+g.Missed)/runs, 100*float64(g.Hit)/float64(g.Hit+g.Missed), 100*float64(g.Hit)/float64(g.Guessed))
			}
		}
		reads.WriteString("\n")
		guesses.WriteString("\n")
	}
	fmt.Printf("%s\n%s", reads.String(), guesses.String())
}

// TestShortPrompts: of a trained model the experts of a short prompt are guessed far
// better than by chance, fewer bytes are read than before routing, and the results are
// the same. A model left alone guesses for short prompts only.
func TestShortPrompts(t *testing.T) {
	dir, texts := packed(t, trained, "w4"), heldout(t, trained)
	source := inMemory(t, dir)
	before := open(t, dir, runtime.Options{Schedule: pager.BeforeRouting, Source: source})
	guessed := open(t, dir, runtime.Options{Schedule: pager.Guessed, Source: source})
	for _, n := range []int{1, 3} {
		plain, early := new(shortRun), new(shortRun)
		for _, text := range texts[:12] {
			b := runtime.Batch{Prompts: [][]int32{text[:n]}, Logits: runtime.All}
			want, got := run(t, before, b), run(t, guessed, b)
			requireBits(t, want.Logits, got.Logits, "%d tokens, guessed", n)
			plain.add(want)
			early.add(got)
		}
		require.Less(t, early.bytes, plain.bytes, "%d tokens: bytes read", n)
		require.Less(t, early.wasted, plain.wasted, "%d tokens: bytes that nobody wanted", n)
		require.Len(t, early.guesses, 4, "layers that were guessed")
		sum := runtime.Guesses{}
		for _, g := range early.guesses {
			sum.Guessed, sum.Hit, sum.Missed = sum.Guessed+g.Guessed, sum.Hit+g.Hit, sum.Missed+g.Missed
		}
		require.Greater(t, float64(sum.Hit), 0.5*float64(sum.Hit+sum.Missed), "%d tokens: hits of %+v", n, sum)
		require.Greater(t, float64(sum.Hit), 0.5*float64(sum.Guessed), "%d tokens: guesses that were right of %+v", n, sum)
		require.Nil(t, plain.guesses)
	}
	auto := open(t, dir, runtime.Options{Source: source})
	for n, want := range map[int]pager.Schedule{1: pager.Guessed, 5: pager.Guessed, 6: pager.BeforeRouting, 200: pager.BeforeRouting} {
		plan, err := auto.Plan(runtime.Batch{Prompts: [][]int32{make([]int32, n)}})
		require.NoError(t, err)
		require.Equal(t, want, plan.Schedule, "%d tokens, 4 of 16 experts each", n)
		if shape := plan.Geometry; want == pager.Guessed {
			require.Equal(t, []int{8, 1}, []int{shape.Banks, shape.Group}, "banks and group of 4 groups of 2")
		}
	}
	one := open(t, dir, runtime.Options{Source: source, Banks: 1})
	for n, want := range map[int]pager.Schedule{1: pager.AfterRouting, 200: pager.BeforeRouting} {
		plan, err := one.Plan(runtime.Batch{Prompts: [][]int32{make([]int32, n)}})
		require.NoError(t, err)
		require.Equal(t, want, plan.Schedule, "%d tokens, in the one bank that a guess may not have", n)
	}
}

// TestGuessesOfFamilies: every family is guessed in every routed layer; layers without
// experts, before and between, are passed over.
func TestGuessesOfFamilies(t *testing.T) {
	routed := map[string]int{"deepseek": 2, "lfm2": 2, "mixtral": 3, "olmoe": 3, "qwen3": 3}
	eachFamily(t, func(t *testing.T, from string, g golden) {
		m := open(t, packed(t, from, "w8"), runtime.Options{Schedule: pager.Guessed})
		var layers []int
		for _, x := range run(t, m, runtime.Batch{Prompts: g.ragged()}).Stats.Guesses {
			require.Positive(t, x.Hit, "%+v", x)
			layers = append(layers, x.Layer)
		}
		first := len(m.Module().Layers) - routed[filepath.Base(from)]
		require.Len(t, layers, routed[filepath.Base(from)], "layers %v", layers)
		require.Equal(t, first, layers[0], "the first layer with experts")
	})
}

// TestRoutersStay: what guesses are made with is read once, and given up with the first plan that makes none.
func TestRoutersStay(t *testing.T) {
	dir := packed(t, tiny, "w4")
	few, many := runtime.Batch{Prompts: [][]int32{{1, 2}}}, runtime.Batch{Prompts: [][]int32{make([]int32, 100)}}
	peeks := 0
	m := open(t, dir, runtime.Options{Memory: 1 << 30, Trace: func(e pager.Event) {
		if e.Kind == pager.Read && e.Stage < 0 {
			peeks++
		}
	}})
	for i, b := range []runtime.Batch{few, few, many, few} {
		want := []int{4, 4, 4, 7}[i] // one of the embedding table, which stays
		plan := run(t, m, b).Plan
		require.Equal(t, want, peeks, "reads ahead of layers, by run %d and those before it", i)
		part := slices.IndexFunc(plan.Parts, func(p runtime.Part) bool { return p.Name == "routers" })
		require.Equal(t, plan.Schedule == pager.Guessed, plan.Parts[part].Bytes > 0, "%v", plan)
	}
}

// TestRoutersWrong: routers that come wrong from flash cost reads, not results.
func TestRoutersWrong(t *testing.T) {
	f := newFaulty(t)
	r := open(t, f.dir, runtime.Options{}).Manifest().Dense[2] // whose record has no slot while routers are read
	at := r.Offset + r.Length - 2000                           // in the router, which stands last
	m, bad := f.open(t, runtime.Options{Schedule: pager.Guessed}, f.places[1].file, pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: at, Times: 1})
	requireBits(t, f.want, run(t, m, f.batch).Logits, "layer 2's router is wrong")
	require.Equal(t, []int{2, 1}, []int{readsOf(bad, at), bad.Fired()}, "reads of it, and faults")
}

// fillRouters is a source whose reads of routers, made before their layers are read, come
// as one number over and over.
type fillRouters struct {
	pager.Source
	layout *layout.Manifest
	with   float32
	filled *atomic.Int64
}

func (s fillRouters) ReadAt(ctx context.Context, p []byte, off int64) error {
	for _, r := range s.layout.Dense[:3] {
		whole := r.Stride(s.layout.Align)
		if r.Offset <= off && off+int64(len(p)) <= r.Offset+whole && int64(len(p)) < whole {
			for i := range len(p) / 4 {
				binary.LittleEndian.PutUint32(p[4*i:], math.Float32bits(s.with))
			}
			s.filled.Add(1)
			return nil
		}
	}
	return s.Source.ReadAt(ctx, p, off)
}

// TestRoutersNoNumbers: routers that come as what is no number, or makes none, cost reads alone too.
func TestRoutersNoNumbers(t *testing.T) {
	f := newFaulty(t)
	man := open(t, f.dir, runtime.Options{}).Manifest()
	for _, with := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, 0} {
		var filled atomic.Int64
		m := open(t, f.dir, runtime.Options{Schedule: pager.Guessed, Source: func(path string) (pager.Source, error) {
			src, err := f.source(path)
			if filepath.Base(path) != layout.DenseName {
				return src, err
			}
			return fillRouters{src, man, float32(with), &filled}, err
		}})
		requireBits(t, f.want, run(t, m, f.batch).Logits, "routers of %g", with)
		require.EqualValues(t, len(m.Routers()), filled.Load(), "routers of %g", with)
	}
}

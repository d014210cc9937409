package runtime_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/pagertest"
	"estream/runtime"
)

// inMemory opens the weight files of a package from memory.
func inMemory(t testing.TB, dir string) func(string) (pager.Source, error) {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"experts.bin", "dense.bin"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		files[filepath.Join(dir, name)] = data
	}
	return func(path string) (pager.Source, error) { return pagertest.NewMem(path, files[path], 4096), nil }
}

// TestSameBits runs ragged prompts, longer together than most chunks, by every
// way of a listed grid and by many drawn at random. What each prompt gives
// must be the bits that it gives alone by the default way.
func TestSameBits(t *testing.T) {
	draws := 200
	if testing.Short() {
		draws = 20
	}
	for _, encoding := range []string{"w4", "f32"} {
		t.Run(encoding, func(t *testing.T) {
			s := newSame(t, packed(t, tiny, encoding), openGolden(t))
			for _, w := range grid() {
				s.check(t, w)
			}
			rng := rand.New(rand.NewPCG(5, uint64(len(encoding))))
			for range draws {
				s.check(t, s.draw(rng))
			}
			t.Logf("%d runs by %d plans, %d of them within a budget; %d refused for theirs", s.runs, len(s.plans), s.bounded, s.refused)
			require.Greater(t, s.bounded, draws/4, "runs within a budget")
		})
	}
}

// TestSameBitsOfFamilies draws a few ways for each other family.
func TestSameBitsOfFamilies(t *testing.T) {
	eachFamily(t, func(t *testing.T, from string, g golden) {
		for _, encoding := range []string{"w8", "f32"} {
			s := newSame(t, packed(t, from, encoding), g)
			rng := rand.New(rand.NewPCG(6, uint64(len(encoding))))
			for range 12 {
				s.check(t, s.draw(rng))
			}
		}
	})
}

// A same is a package and what its prompts give.
type same struct {
	dir     string
	source  func(string) (pager.Source, error)
	prompts [][]int32
	want    [][]float32 // all logits of each

	runs, bounded, refused int
	plans                  map[string]bool
}

func newSame(t *testing.T, dir string, g golden) *same {
	s := &same{dir: dir, source: inMemory(t, dir), plans: map[string]bool{}}
	s.prompts = append(g.ragged(), g.ints("p33.input_ids")[0], g.ints("p1.input_ids")[0], g.ints("batch.input_ids")[2])
	m := open(t, dir, runtime.Options{})
	for _, p := range s.prompts {
		s.want = append(s.want, logitsOf(t, m, p))
	}
	return s
}

// A way is how a package is opened, and two batches that run one after the
// other: the second meets what the first left in memory.
type way struct {
	o       runtime.Options
	batches [2][]int // prompts
	logits  runtime.Logits
	each    bool
	spare   int64 // Options.Memory beyond what a plan without it takes; 0: no budget
}

func (w way) String() string {
	return fmt.Sprintf("%v Q=%d B=%d G=%d chunk=%d threads=%d spare=%d logits=%d each=%v prompts=%v",
		w.o.Schedule, w.o.Readers, w.o.Banks, w.o.Group, w.o.Chunk, w.o.Threads, w.spare, w.logits, w.each, w.batches)
}

func grid() []way {
	var ways []way
	for _, schedule := range schedules {
		for _, qbg := range [][3]int{{1, 1, 1}, {2, 3, 2}, {4, 2, 8}} {
			for _, chunk := range []int{0, 1, 16} {
				for _, threads := range []int{1, 2} {
					o := runtime.Options{Schedule: schedule, Readers: qbg[0], Banks: qbg[1], Group: qbg[2], Chunk: chunk, Threads: threads}
					ways = append(ways, way{o: o, batches: [2][]int{{0, 1, 2, 3}, {3, 5, 0}}, logits: runtime.All})
				}
			}
		}
	}
	return ways
}

func (s *same) draw(rng *rand.Rand) way {
	w := way{logits: []runtime.Logits{runtime.All, runtime.All, runtime.Last}[rng.IntN(3)], each: rng.IntN(4) == 0}
	w.o = runtime.Options{
		Schedule: pager.Schedule(rng.IntN(5)),
		Readers:  rng.IntN(5), Banks: rng.IntN(5), Group: rng.IntN(9), Threads: 1 + rng.IntN(3),
		Chunk: []int{0, 0, 0, 1, 2, 3, 5, 7, 13, 16, 31, 64}[rng.IntN(12)],
	}
	if rng.IntN(2) == 0 {
		w.spare = 1 - 512<<10 + rng.Int64N(2<<20)
	}
	for i := range w.batches {
		w.batches[i] = rng.Perm(len(s.prompts))[:1+rng.IntN(len(s.prompts))]
	}
	return w
}

func (s *same) check(t *testing.T, w way) {
	t.Helper()
	w.o.Source = s.source
	if w.spare != 0 {
		w.o.Memory = w.spare + s.needs(t, w)
	}
	m, err := runtime.Open(t.Context(), s.dir, w.o)
	require.NoError(t, err, "%v", w)
	defer func() { require.NoError(t, m.Close(), "%v", w) }()
	for _, prompts := range w.batches {
		b, rows := s.batch(w, prompts), []float32(nil)
		if w.each {
			b.Each = func(_ int, x []float32) error { rows = append(rows, x...); return nil }
		}
		res, err := m.Run(t.Context(), b)
		if w.spare != 0 && errors.Is(err, runtime.ErrMemory) {
			s.refused++
			continue
		}
		require.NoError(t, err, "%v", w)
		if w.each {
			res.Logits = rows
		}
		s.count(w, res)
		for i, p := range prompts {
			want := s.want[p]
			if w.logits == runtime.Last {
				want = want[len(want)-res.Vocab:]
			}
			requireBits(t, want, rowsOf(res, i), "%v: prompt %d of %v", w, i, prompts)
		}
	}
}

func (s *same) batch(w way, prompts []int) runtime.Batch {
	b := runtime.Batch{Logits: w.logits}
	for _, p := range prompts {
		b.Prompts = append(b.Prompts, s.prompts[p])
	}
	return b
}

// needs is the memory that the larger of w's batches takes without a budget.
func (s *same) needs(t *testing.T, w way) int64 {
	t.Helper()
	m, err := runtime.Open(t.Context(), s.dir, w.o)
	require.NoError(t, err, "%v", w)
	most := int64(0)
	for _, prompts := range w.batches {
		plan, err := m.Plan(s.batch(w, prompts))
		require.NoError(t, err, "%v", w)
		most = max(most, plan.Bytes())
	}
	require.NoError(t, m.Close(), "%v", w)
	return most
}

func (s *same) count(w way, res *runtime.Result) {
	s.runs++
	if w.spare != 0 {
		s.bounded++
	}
	s.plans[fmt.Sprint(res.Plan.Chunk, res.Plan.Head, res.Plan.Readers, res.Plan.Geometry)] = true
}

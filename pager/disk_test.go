package pager_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"estream/pager"
	"estream/pager/pagertest"
)

// TestFromFiles reads a model from real files into real pages.
func TestFromFiles(t *testing.T) {
	pagertest.CheckLeaks(t)
	const align = 16 << 10
	layer := pagertest.Shape{Dense: 1, Experts: 16, Size: 60_000}
	m := pagertest.New(1, align, layer, layer, layer, pagertest.Shape{Dense: 5, Size: 60_000})
	g := m.Geometry(3, 4)
	mem, free, err := pager.Pages(g.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	a, err := pager.NewArena(mem, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, schedule := range []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.OnDemand} {
		p, err := pager.New(pager.Config{
			Stages: m.Stages, Dense: onDisk(t, m.Dense), Experts: onDisk(t, m.Experts),
			Arena: a, Schedule: schedule, Readers: 2, Checks: m.Checks(pager.First),
		})
		if err != nil {
			t.Fatal(err)
		}
		w := &walker{t: t, m: m, mem: mem, wanted: route(rng2(1), m, 0.7), heads: 2}
		if w.pass, err = p.Start(context.Background(), w.heads); err != nil {
			t.Fatal(err)
		}
		err = w.walk(context.Background())
		st, closeErr := w.pass.Close()
		if err != nil || closeErr != nil || st.Bytes != st.Wasted+w.bytes {
			t.Fatalf("%v: %v, %v, %+v, %d bytes wanted", schedule, err, closeErr, st, w.bytes)
		}
		if want := expected(m, w.wanted, w.heads); !slices.Equal(w.took, want) {
			t.Fatalf("%v: took\n%q, want\n%q", schedule, w.took, want)
		}
	}
}

// onDisk writes a source to a file and opens that.
func onDisk(t *testing.T, src *pagertest.Mem) *pager.File {
	data := make([]byte, src.Size())
	if err := src.ReadAt(context.Background(), data, 0); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), src.Name())
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := pager.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

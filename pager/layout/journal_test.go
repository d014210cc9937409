package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/crc32c"
)

// What was written is made durable after so many bytes, or so long.
func TestWhenToSync(t *testing.T) {
	s := newSource(t)
	w, err := Create(t.Context(), filepath.Join(t.TempDir(), "pkg"), s.plan, CreateOptions{Sync: 20000})
	require.NoError(t, err)
	defer w.Stop()
	steps, e := s.steps(w), s.manifest.Experts
	require.NoError(t, steps[0]())
	require.Zero(t, w.Kept())
	require.NoError(t, steps[1]())
	require.NoError(t, steps[2]())
	require.Equal(t, e[0].Length+e[1].Length+e[2].Length, w.Kept(), "after 20000 bytes")
	require.NoError(t, steps[3]())
	w.journal.last = w.journal.last.Add(-syncTime)
	kept := w.Kept()
	require.NoError(t, steps[4]())
	require.Equal(t, kept+e[3].Length+e[4].Length, w.Kept(), "after some time")
}

// A file that cannot be synced may have lost anything: nothing that was written
// before is entered, and there is no package.
func TestNothingIsEnteredAfterAFailedSync(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	w := create(t, dir, s.plan)
	for _, step := range s.steps(w)[:10] {
		require.NoError(t, step())
	}
	require.NoError(t, w.sync())
	kept := w.Kept()
	for _, step := range s.steps(w)[10:12] {
		require.NoError(t, step())
	}
	require.NoError(t, w.dense.Close())
	require.ErrorIs(t, w.sync(), os.ErrClosed)
	require.ErrorIs(t, w.Finish(s.manifest), os.ErrClosed)
	got, err := w.Stop()
	require.ErrorIs(t, err, os.ErrClosed)
	require.Equal(t, kept, got)
	require.Len(t, finish(t, dir, written(t)), 15)
}

// FuzzJournal: whatever the bytes, and also where their lines' checksums are
// right, there is no panic, and what is read is written the same.
func FuzzJournal(f *testing.F) {
	line := func(v any) string {
		data, err := sealLine(v)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	head := line(header{journalVersion, []KeyValue{{"encoding", "w4"}}})
	f.Add("")
	f.Add(head)
	f.Add(head + line(entry{File: ExpertsName, Offset: 4096, Length: 5, Factors: []float32{0.5}}) + line(entry{File: DenseName, Rows: "embed", Index: 3, Count: 2}))
	f.Add(head + line(entry{File: ExpertsName, CRC: 1}) + line(entry{File: ExpertsName, CRC: 2}) + "torn")
	f.Add(`{"journal":1,"identity":null}` + "\n" + `{"file":"x","index":-1}` + "\n" + `{"layer":1e99}`)
	f.Fuzz(func(t *testing.T, text string) {
		parseJournal([]byte(text))
		var mended []byte
		for l := range strings.Lines(text) {
			l = strings.TrimSuffix(l, "\n")
			mended = fmt.Appendf(mended, "%08x %s\n", crcOf(l), l)
		}
		head, entries, err := parseJournal(mended)
		if err != nil {
			return
		}
		again := line(head)
		for _, e := range entries {
			again += line(e)
		}
		head2, entries2, err := parseJournal([]byte(again))
		require.NoError(t, err)
		require.Equal(t, line(head), line(head2))
		require.Equal(t, len(entries), len(entries2))
		for i := range entries {
			require.Equal(t, line(entries[i]), line(entries2[i]))
		}
	})
}

func crcOf(s string) uint32 { return crc32c.Checksum([]byte(s)) }

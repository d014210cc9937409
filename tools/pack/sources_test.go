package pack

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
)

// A source that is written anew while it is read makes no package of both.
func TestSourcesThatChange(t *testing.T) {
	from := smallToy().write(t)
	old, _ := packed(t, from, options(t, "w4"))
	pack := func(dir string, o Options) error {
		_, err := Run(t.Context(), from, dir, o)
		return err
	}
	repack := func(dir string, o Options) error {
		to := repackOptions(t, "npu", npuPacking())
		to.Workers, to.Progress = o.Workers, o.Progress
		_, err := Repack(t.Context(), old, dir, to)
		return err
	}
	for _, tc := range []struct {
		path, named string
		run         func(dir string, o Options) error
		change      func(data []byte)
	}{
		{filepath.Join(from, "model.safetensors"), "", pack, func(data []byte) { data[len(data)-1] ^= 0x10 }},
		{filepath.Join(from, "config.json"), from + ": config.json", pack, func(data []byte) { copy(data[strings.Index(string(data), "0.00001"):], "0.00002") }},
		{filepath.Join(old, layout.DenseName), "", repack, func([]byte) {}},
		{filepath.Join(old, layout.ExpertsName), "", repack, func(data []byte) { clear(data) }},
	} {
		data, err := os.ReadFile(tc.path)
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "pkg")
		o := options(t, "w4")
		o.Workers = 1
		change := func() {
			tc.change(data)
			require.NoError(t, os.WriteFile(tc.path, data, 0o666))
			require.NoError(t, os.Chtimes(tc.path, time.Time{}, time.Now().Add(time.Hour))) // whatever the clock's grain
		}
		o.Progress = func(done, total int64) {
			if change != nil && done > total/4 {
				change()
				change = nil
			}
		}
		require.EqualError(t, tc.run(dir, o), dir+" is unfinished: "+cmp.Or(tc.named, tc.path)+" changed while it was read: run again with --restart")
		require.NoDirExists(t, dir)
	}
}

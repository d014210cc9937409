package throttle_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/plugin/throttle"

	"estream/pager"
)

func file(t testing.TB, n int) string {
	t.Helper()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i % 251)
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// Two files that are read at once share the rate, and an idle time earns nothing.
func TestRate(t *testing.T) {
	path := file(t, 1<<20)
	synctest.Test(t, func(t *testing.T) {
		var th throttle.Throttle
		a, err := th.Open("2", path)
		require.NoError(t, err)
		defer a.Close()
		b, err := th.Open("2", path)
		require.NoError(t, err)
		defer b.Close()
		time.Sleep(time.Minute)
		begun := time.Now()
		var group sync.WaitGroup
		for _, s := range []pager.Source{a, b} {
			group.Go(func() {
				p := make([]byte, 1<<20)
				if err := s.ReadAt(t.Context(), p, 0); err != nil || p[1000] != byte(1000%251) {
					t.Errorf("read: %v, byte 1000 is %d", err, p[1000])
				}
			})
		}
		group.Wait()
		require.Equal(t, time.Second, time.Since(begun), "2 MiB at 2 MiB/s")
	})
}

func TestCancel(t *testing.T) {
	path := file(t, 4096)
	synctest.Test(t, func(t *testing.T) {
		s, err := new(throttle.Throttle).Open("0.001", path)
		require.NoError(t, err)
		defer s.Close()
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		require.Equal(t, why, s.ReadAt(ctx, make([]byte, 4096), 0))
	})
}

// What else a source does is the file's.
func TestFile(t *testing.T) {
	path := file(t, 4096)
	s, err := new(throttle.Throttle).Open("1000", path)
	require.NoError(t, err)
	defer s.Close()
	f, err := pager.OpenFile(path)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, []any{f.Size(), f.Align(), f.Name(), f.Note()}, []any{s.Size(), s.Align(), s.Name(), pager.Note(s)})
	require.ErrorIs(t, s.ReadAt(t.Context(), make([]byte, 8), 4090), pager.ErrTruncated)
	for _, rate := range []string{"", "fast", "0", "-1", "NaN", "Inf"} {
		_, err := new(throttle.Throttle).Open(rate, path)
		require.EqualError(t, err, "throttle="+rate+": want MiB a second, as in throttle=40")
	}
	_, err = new(throttle.Throttle).Open("1", path+"x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

package pack

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
)

var kills = flag.Int("kills", 10, "moments at which TestKilled kills a conversion")

// What a child of TestKilled is told by.
const (
	killedFrom = "PACK_TEST_KILLED_FROM"
	killedTo   = "PACK_TEST_KILLED_TO"
	killedSync = "PACK_TEST_KILLED_SYNC"
)

// U13: TestKilled kills processes that convert to a slow disk at random moments, also
// while they go on with what others left, and finishes what they leave: it is the
// package that an undisturbed conversion makes. Some 200 moments, in a minute or
// two, meet each step of writing:
//
//	go test ./tools/pack -run Killed -kills 200
func TestKilled(t *testing.T) {
	if os.Getenv(killedTo) != "" {
		convertSlowly(t)
		return
	}
	n := *kills
	if testing.Short() {
		n = min(n, 2)
	}
	c := smallToy()
	c.experts = 8
	from := c.write(t)
	want, _ := packed(t, from, options(t, "w4"))
	undisturbed := child(t, from, filepath.Join(t.TempDir(), "pkg"), 1, time.Hour)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	unfinished, again := 0, 0
	for i := 0; i < n; {
		dir := filepath.Join(t.TempDir(), "pkg")
		sync := []int64{1, 1, toyExpert * 2, 0}[r.IntN(4)]
		for range 1 + r.IntN(2) {
			after := time.Duration(r.Float64() * float64(undisturbed))
			child(t, from, dir, sync, after)
			i++
			if _, err := layout.Open(dir); err == nil {
				requireSame(t, want, dir) // no stub is taken for a package
				break
			}
			unfinished++
		}
		kept := finish(t, from, dir)
		requireSame(t, want, dir)
		requireOnly(t, filepath.Dir(dir), "pkg")
		if kept > 0 {
			again++
		}
	}
	t.Logf("%d conversions were killed unfinished, %d of them were gone on with at the end; undisturbed takes %v", unfinished, again, undisturbed)
}

// finish does what is left to do of the package dir, and returns what was kept.
func finish(t *testing.T, from, dir string) (kept int64) {
	t.Helper()
	o := options(t, "w4")
	o.Resumed = func(n, _ int64) { kept = n }
	_, err := Run(t.Context(), from, dir, o)
	if _, there := os.Stat(dir + ".partial"); err != nil && os.IsNotExist(there) {
		require.EqualError(t, err, "create "+dir+": it is there already, and a package is never written over; remove it or name another: file already exists")
		return 0
	}
	require.NoError(t, err)
	return kept
}

// child converts in a process of its own, which it kills some time after the
// conversion has begun, and returns how long it lived from then on.
func child(t *testing.T, from, to string, sync int64, after time.Duration) time.Duration {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killedFrom+"="+from, killedTo+"="+to, fmt.Sprintf("%s=%d", killedSync, sync))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", line)
	begun := time.Now()
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	cmd.Wait() // killed or not
	return time.Since(begun)
}

// convertSlowly is the child.
func convertSlowly(t *testing.T) {
	o := options(t, "w4")
	o.Workers = 2
	o.Progress = func(int64, int64) { time.Sleep(5 * time.Millisecond) }
	var err error
	o.Sync, err = strconv.ParseInt(os.Getenv(killedSync), 10, 64)
	require.NoError(t, err)
	fmt.Println("begun")
	Run(t.Context(), os.Getenv(killedFrom), os.Getenv(killedTo), o)
}

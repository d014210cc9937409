package runtime_test

import (
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/runtime"
)

const limitedVar = "ESTREAM_TEST_LIMITED" // the package, and the memory to run it in

// TestLimited runs a package as a process whose memory the system limits to 5 % more than its budget: it is not killed, stays
// within the budget, and gives what it gives without a limit.
func TestLimited(t *testing.T) {
	if task := os.Getenv(limitedVar); task != "" {
		runLimited(t, task)
		return
	}
	if raced {
		t.Skip("the race detector's own memory is not planned")
	}
	dir := packed(t, tiny, "w4")
	var plan, held int64
	var want, got string
	_, err := fmt.Sscan(limitedProcess(t, dir, 0, ""), &plan, &held, &want)
	require.NoError(t, err)
	budget := plan + 3<<20 // which leaves some for pins
	group := limitMemory(t, budget+budget/20)
	_, err = fmt.Sscan(limitedProcess(t, dir, budget, group), &plan, &held, &got)
	require.NoError(t, err)
	require.Equal(t, want, got, "logits")
	require.LessOrEqual(t, held, budget, "the peak, of a budget of so many bytes")
	t.Logf("in a budget of %d bytes a plan of %d and a peak of %d", budget, plan, held)
}

// runLimited prints plan, peak and checksum of the logits.
func runLimited(t *testing.T, task string) {
	dir, memory, _ := strings.Cut(task, "\n")
	n, err := strconv.ParseInt(memory, 10, 64)
	require.NoError(t, err)
	var b runtime.Batch
	for range 4 {
		ids := make([]int32, 100)
		for i := range ids {
			ids[i] = int32(1 + (7*i+len(b.Prompts))%60)
		}
		b.Prompts = append(b.Prompts, ids)
	}
	m := open(t, dir, runtime.Options{Memory: n, Threads: 1})
	sum, plan := crc32.NewIEEE(), int64(0)
	for range 3 { // the later runs with pins
		res := run(t, m, b)
		for _, x := range res.Logits {
			fmt.Fprintf(sum, "%08x", math.Float32bits(x))
		}
		plan = res.Plan.Bytes()
	}
	fmt.Println(plan, runtime.PeakBytes(), fmt.Sprintf("%08x", sum.Sum32()))
}

// limitedProcess is what the process prints, in a group where one is given: from its first page on.
func limitedProcess(t *testing.T, dir string, memory int64, group string) string {
	t.Helper()
	script := `exec "$0" -test.run='^TestLimited$'`
	if group != "" {
		script = fmt.Sprintf("echo 0 > %s/cgroup.procs && %s", group, script)
	}
	cmd := exec.Command("/bin/sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d", limitedVar, dir, memory), "GOGC=25")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "in %d bytes: %s", memory, out)
	return string(out)
}

// limitMemory makes a control group of so many bytes, swap included.
func limitMemory(t *testing.T, n int64) string {
	t.Helper()
	name := fmt.Sprintf("estream-test-%d", rand.Uint32())
	for _, v := range []struct{ root, limit, swap, most string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", fmt.Sprint(n)},
		{"/sys/fs/cgroup", "memory.max", "memory.swap.max", "0"},
	} {
		dir := filepath.Join(v.root, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
		if os.WriteFile(filepath.Join(dir, v.limit), fmt.Append(nil, n), 0) == nil {
			_ = os.WriteFile(filepath.Join(dir, v.swap), []byte(v.most), 0) // where swap is counted
			return dir
		}
	}
	t.Skip("no control group of memory can be made here, which takes root")
	return ""
}

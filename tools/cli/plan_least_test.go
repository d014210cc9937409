package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var leastSweep = flag.Int("least-sweep", 0, "hold budgets around the least that plan takes against run and bench in so many processes each")

// alone runs a command in a process of its own, so that none before it counts in what memory it has, and returns whether
// it had enough.
func alone(t *testing.T, args ...string) (enough bool, said string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join(args, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.Contains(t, string(out), "memory budget too small", "%v", args)
	}
	return err == nil, string(out)
}

// What plan tells to be enough memory, and what it takes, is enough for it, run and bench in any process.
func TestPlanSure(t *testing.T) {
	ownCache(t)
	dir := packed(t, tiny, "w4")
	alone(t, "plan", "--tokens", "64", dir) // measures
	_, said := alone(t, "plan", "--tokens", "64", "--memory", "1MiB", dir)
	told := regexp.MustCompile(`the least that is sure to work is ([0-9.]+) MiB.* is ([0-9.]+) MiB for 64 tokens`).FindStringSubmatch(said)
	require.NotNil(t, told, said)
	mib := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return n
	}
	sure, plan := mib(told[1]), mib(told[2])
	budgets, times := []float64{sure}, 1
	if *leastSweep > 0 {
		times = *leastSweep
		for i := range 20 {
			budgets = append(budgets, plan+2+float64(i-10)/16)
		}
	}
	others := [][]string{{"run", "--tokens", strings.Repeat("1,", 63) + "1"}, {"bench", "-p", "64", "-r", "3"}}
	for _, b := range budgets {
		takes := func(args ...string) (n int) {
			for range times {
				if enough, _ := alone(t, append(args, "--memory", fmt.Sprintf("%.4fMiB", b), dir)...); enough {
					n++
				}
			}
			return n
		}
		planned := takes("plan", "--tokens", "64")
		t.Logf("%.4f MiB: plan takes it in %d of %d processes", b, planned, times)
		if b == sure {
			require.Equal(t, times, planned, "%.4f MiB of plan", b)
		}
		if planned == 0 {
			continue
		}
		for _, args := range others {
			require.Equal(t, times, takes(args...), "%.4f MiB of %s, which plan takes in %d of %d processes", b, args[0], planned, times)
		}
	}
}

// Within a budget just above the least for the longest prompt, n* agrees with each row, though twice a length never fits.
func TestPlanLeast(t *testing.T) {
	ownCache(t)
	dir := packed(t, tiny, "w4")
	slow := func(more ...string) (stdout, stderr string) { // in a process of its own, so that none before it counts
		cmd := exec.Command(os.Args[0])
		args := append([]string{"plan", "--json", "--read-limit", "4MB/s", dir}, more...)
		cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join(args, "\n"))
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); err != nil {
			require.ErrorContains(t, err, "exit status 1")
		}
		return out.String(), said.String()
	}
	slow("--tokens", "8") // measures
	_, said := slow("--tokens", "8192", "--memory", "1MiB")
	told := regexp.MustCompile(`the least that is sure to work is ([0-9.]+) MiB`).FindStringSubmatch(said)
	require.NotNil(t, told, said)
	least, err := strconv.ParseFloat(told[1], 64)
	require.NoError(t, err)
	budget := strconv.FormatFloat(least+8, 'f', 1, 64) + "MiB"
	for _, tokens := range []string{"256-8192*2", "8192", "4096,8192", "8192,256"} {
		out, said := slow("--tokens", tokens, "--memory", budget)
		require.Empty(t, unhurried(said), tokens)
		v := object(t, result{out: out})
		star, found := v["n_star"].(float64)
		if !found {
			star = math.Inf(1)
		}
		for _, p := range v["plans"].([]any) {
			p := p.(map[string]any)
			n, reads, computes := p["tokens"].(float64), p["tio_s"].(float64), p["texec_s"].(float64)
			switch {
			case n >= star:
				require.GreaterOrEqual(t, computes, reads, "%s: n* %v, %v tokens", tokens, star, n)
			case !found || n < star-star/32:
				require.Greater(t, reads, computes, "%s: n* %v, %v tokens", tokens, star, n)
			}
		}
	}
}

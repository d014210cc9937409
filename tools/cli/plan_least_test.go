package cli_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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

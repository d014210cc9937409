package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Run and bench take the shape that a kept profile chooses, unless one is given, or none is wanted, or they read otherwise.
func TestPlanShape(t *testing.T) {
	ownCache(t)
	dir := packed(t, tiny, "w4")
	const told = `(?m)^shape: by the profile of 20\d\d-\d\d-\d\d \S+ UTC; --plan off runs without it$`
	shape := func(v map[string]any) []any { return []any{v["q"], v["b"], v["g"]} }
	args := []string{"run", "--json", "--tokens", "1,2,3,4,5,6,7,8", dir}
	before := ok(t, args...)
	require.NotRegexp(t, told, before.errors, "no profile is kept")
	plan := object(t, ok(t, "plan", "--json", "--tokens", "8", dir))["plans"].([]any)[0].(map[string]any)
	r := ok(t, args...)
	require.Regexp(t, told, r.errors)
	require.Equal(t, shape(plan), shape(object(t, r)))
	r = ok(t, "bench", "-p", "8", "-r", "1", "-o", "jsonl", dir)
	require.Regexp(t, told, r.errors)
	require.Equal(t, shape(plan), shape(object(t, r)))
	for _, given := range [][]string{{"--plan", "off"}, {"--banks", "2"}, {"--threads", "1"}, {"--read-limit", "1GB/s"}, {"--checksum", "off"}} {
		require.NotRegexp(t, told, ok(t, append(args, given...)...).errors, "%v", given)
	}
	require.Equal(t, shape(object(t, before)), shape(object(t, ok(t, append(args, "--plan", "off")...))))
	r = run(append(args, "--plan", "on")...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, `unknown --plan "on": use auto or off`)
}

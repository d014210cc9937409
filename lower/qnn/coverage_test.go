package qnn

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/qnn/native"
)

// samples are operators of the table on operands as models have them, in the text
// of a graph's values; the last is the operator's.
var samples = []struct{ name, values string }{
	{"add", "%1:x = input : f32[4,64]\n%2:y = input : f32[4,64]\n%3 = add %1 %2 : f32[4,64]"},
	{"sub", "%1:x = input : f32[4,64]\n%2:y = input : f32[4,64]\n%3 = sub %1 %2 : f32[4,64]"},
	{"mul", "%1:x = input : f32[4,64]\n%2:y = input : f32[4,64]\n%3 = mul %1 %2 : f32[4,64]"},
	{"div", "%1:x = input : f32[4,64]\n%2:y = input : f32[4,1]\n%3 = div %1 %2 : f32[4,64]"},
	{"affine", "%1:x = input : f32[4,64]\n%2 = affine %1 mul=2 add=1 : f32[4,64]"},
	{"sum", "%1:x = input : f32[4,64]\n%2 = sum %1 : f32[4,1]"},
	{"silu", "%1:x = input : f32[4,64]\n%2 = silu %1 : f32[4,64]"},
	{"sigmoid", "%1:x = input : f32[4,64]\n%2 = sigmoid %1 : f32[4,64]"},
	{"clamp", "%1:x = input : f32[4,64]\n%2 = clamp %1 limit=7 : f32[4,64]"},
	{"softmax", "%1:x = input : f32[4,64]\n%2 = softmax %1 : f32[4,64]"},
	{"rmsnorm", "%1:x = input : f32[4,64]\n%2:g = weight offset=0 : f32[64]\n%3 = rmsnorm %1 %2 eps=1e-05 : f32[4,64]"},
	{"reshape", "%1:x = input : f32[4,64]\n%2 = reshape %1 dims=4,4,16 : f32[4,4,16]"},
	{"slice", "%1:x = input : f32[4,64]\n%2 = slice %1 from=16 to=48 : f32[4,32]"},
	{"concat", "%1:x = input : f32[4,64]\n%2:y = input : f32[4,32]\n%3 = concat %1 %2 : f32[4,96]"},
	{"scale_rows", "%1:x = input : f32[4,64]\n%2:w = input : f32[4]\n%3 = scale_rows %1 %2 : f32[4,64]"},
	{"rope", "%1:x = input : f32[4,2,32]\n%2:pos = input : i32[4]\n%3 = rope %1 %2 theta=10000 interleaved=false : f32[4,2,32]"},
	{"attention_masked", "%1:q = input : f32[4,4,32]\n%2:past.0 = input : f32[16,2,32]\n%3:past.1 = input : f32[16,2,32]\n%4:k = input : f32[4,2,32]\n%5:v = input : f32[4,2,32]\n%6:mask = input : f32[4,20]\n%7 = attention_masked %1 %2 %3 %4 %5 %6 scale=0.25 window=0 : f32[4,4,32]"},
	{"conv_past", "%1:x = input : f32[4,64]\n%2:w = weight offset=0 : bf16[64,3]\n%3:past.0 = input : f32[2,64]\n%4 = conv_past %1 %2 %3 : f32[4,64]"},
	{"matmul, f32", "%1:x = input : f32[4,64]\n%2:w = weight offset=0 : f32[32,64]\n%3 = matmul %1 %2 : f32[4,32]"},
	{"matmul, f16", "%1:x = input : f32[4,64]\n%2:w = weight offset=0 : f16[32,64]\n%3 = matmul %1 %2 : f32[4,32]"},
	{"matmul, bf16", "%1:x = input : f32[4,64]\n%2:w = weight offset=0 : bf16[32,64]\n%3 = matmul %1 %2 : f32[4,32]"},
	{"matmul, w8", "%1:x = input : f32[4,64]\n%2:w = weight offset=0 : w8[32,64]\n%3 = matmul %1 %2 : f32[4,32]"},
	{"matmul, w8 as a16w8", "%1:x = input : f32[4,64]\n%2:w = weight offset=0 : w8[32,64]\n%3 = matmul %1 %2 : f32[4,32]"},
	{"matmul, w4g32", "%1:x = input : f32[4,128]\n%2:w = weight offset=0 : w4g32[32,128]\n%3 = matmul %1 %2 : f32[4,32]"},
	{"matmul, w4g128", "%1:x = input : f32[16,256]\n%2:w = weight offset=0 : w4g128[32,256]\n%3 = matmul %1 %2 : f32[16,32]"},
	{"matmul, w4full32", "%1:x = input : f32[4,64]\n%2:w = weight offset=0 : w4full32[32,64]\n%3 = matmul %1 %2 : f32[4,32]"},
}

// coverageDoc has the table of operators between these marks.
const coverageDoc, coverageBegin, coverageEnd = "../../docs/qnn.md", "<!-- operators: go test ./lower/qnn -run Coverage -update -->\n", "<!-- end -->"

// TestCoverage asks the libraries of each operator of the IR, and compares the
// table of docs/qnn.md with what they say.
func TestCoverage(t *testing.T) {
	whole := *htp
	whole.whole = true
	onCPU, onHTP := started(t, cpu, 0), started(t, htp, 69)
	table := "| operator | QNN's operators | since | qnn-cpu, f32 | qnn-htp, f16 (v79) |\n|---|---|---|---|---|\n"
	covered := map[string]bool{}
	for _, s := range samples {
		op, _, _ := strings.Cut(s.name, ",")
		covered[op] = true
		h := htp
		if strings.HasSuffix(s.name, "a16w8") {
			h = &whole
		}
		nodes, first := answer(t, cpu, onCPU, s.values)
		more, second := answer(t, h, onHTP, s.values)
		if h == &whole {
			nodes, first = nil, "-"
		}
		for _, n := range more {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
		table += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", s.name, strings.Join(nodes, ", "), sinceAll(t, nodes), first, second)
	}
	for _, op := range ir.CoreOps() {
		switch _, ok := rows[op]; {
		case ok:
			require.True(t, covered[op.Name], "no sample of %s", op.Name)
		case op != ir.Input && op != ir.Weight:
			table += fmt.Sprintf("| %s | - | - | host | host |\n", op.Name)
		}
	}
	compareTable(t, table)
}

// TestSince says of each node that rows make since when QNN has it, without a library,
// and that each row of the table of QNN's operators is needed.
func TestSince(t *testing.T) {
	whole := *htp
	whole.whole = true
	used := map[string]bool{}
	for _, x := range []*target{cpu, htp, &whole} {
		for _, s := range samples {
			low, err := x.lower(sampleGraph(t, s.values))
			if err != nil {
				continue // as TestCoverage has it
			}
			for _, n := range low.desc.Nodes {
				require.Equal(t, uint32(2), n.Since.Major, "%s of %s", n.Op, s.name)
				used[n.Op] = true
			}
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(since)), slices.Sorted(maps.Keys(used)))
}

// TestCoverageOfHTP asks the library of HTP, of whichever QAIRT, and compares with
// what the table of docs/qnn.md says that the one of 2.47 answers.
func TestCoverageOfHTP(t *testing.T) {
	whole := *htp
	whole.whole = true
	text, err := os.ReadFile(coverageDoc)
	require.NoError(t, err)
	backend := started(t, htp, 69)
	for _, s := range samples {
		h := htp
		if strings.HasSuffix(s.name, "a16w8") {
			h = &whole
		}
		_, says := answer(t, h, backend, s.values)
		require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(s.name)+` \|.*\| `+regexp.QuoteMeta(says)+` \|$`, string(text))
	}
}

// started returns a target's library, or skips the test.
func started(t *testing.T, x *target, soc int) *native.Backend {
	t.Helper()
	path := filepath.Join(os.Getenv("ESTREAM_QNN_LIBS"), x.library())
	if _, err := os.Stat(path); err != nil || os.Getenv("ESTREAM_QNN_LIBS") == "" {
		t.Skipf("ESTREAM_QNN_LIBS names no folder with %s: tools/qnn-libs installs it", x.library())
	}
	l, err := native.Open(path)
	require.NoError(t, err)
	b, err := l.Start(native.Options{SoC: soc})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// answer returns the operators that a sample becomes and what the library says of
// them, node by node.
func answer(t *testing.T, x *target, b *native.Backend, values string) (nodes []string, says string) {
	t.Helper()
	low, err := x.lower(sampleGraph(t, values))
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), ": unsupported")
		return nil, "refused: " + reason[strings.LastIndex(reason, "whose"):]
	}
	for _, n := range low.desc.Nodes {
		if !slices.Contains(nodes, n.Op) {
			nodes = append(nodes, n.Op)
		}
	}
	if err := b.Validate(low.desc); err != nil {
		return nodes, "no: " + err.Error()
	}
	return nodes, "yes"
}

func sampleGraph(t *testing.T, values string) *ir.Graph {
	t.Helper()
	last := values[strings.LastIndex(values, "\n")+1:]
	name, _, _ := strings.Cut(last, " ")
	return parse(t, "graph g\n"+values+"\n  return "+name+"\n")
}

// sinceAll returns since when QNN has all of some operators, as text.
func sinceAll(t *testing.T, nodes []string) string {
	t.Helper()
	if nodes == nil {
		return "-"
	}
	var last native.Version
	for _, n := range nodes {
		require.NotZero(t, since[n], "%s has no row in the table of QNN's operators", n)
		if since[n].Minor > last.Minor {
			last = since[n]
		}
	}
	return fmt.Sprintf("2.%d", last.Minor)
}

func compareTable(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(coverageDoc)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), coverageBegin)
	require.True(t, ok, "%s has no mark %q", coverageDoc, coverageBegin)
	now, after, ok := strings.Cut(rest, coverageEnd)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(coverageDoc, []byte(before+coverageBegin+table+coverageEnd+after), 0o666))
		return
	}
	require.Equal(t, now, table, "%s (-update rewrites the table)", coverageDoc)
}

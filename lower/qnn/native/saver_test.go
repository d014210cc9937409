package native

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSaver builds and executes a graph with the vendor's library that writes down
// what it is called with, and reads there that it was what this package meant:
// operators by value with their tensors, encodings and parameters, and what an
// execution binds. So a processor shows how it passes structs that has no other
// library to call.
func TestSaver(t *testing.T) {
	path := library(t, "libQnnSaver.so")
	t.Chdir(t.TempDir())
	l, err := Open(path)
	require.NoError(t, err)
	b, err := l.Start(Options{})
	require.NoError(t, err)
	c, err := b.NewContext()
	require.NoError(t, err)
	d := sample()
	d.Tensors[1].Quant = Quant{Scales: []float32{1, 2}, Offsets: []int32{0, 3}, Bits: 4} // the library knows no blocks
	g, err := c.Build(d, GraphOptions{})
	require.NoError(t, err)
	call, err := g.NewCall()
	require.NoError(t, err)
	in := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	require.NoError(t, call.Execute([][]byte{in}, [][]byte{make([]byte, 4)}))
	require.NoError(t, call.Close())
	require.NoError(t, c.Close())
	require.NoError(t, b.Close())

	const x, w, h, y = `"x", 0, 0, 1046, {1, 0, .scaleOffsetEncoding = {0.5, -32768}}, 2, {2, 4}, 0`,
		`"w", 4, 0, 776, {1, 3, .bwAxisScaleOffsetEncoding = {4, 0, 2, {1, 2}, {0, 3}}}, 2, {2, 4}, 0`,
		`"h", 3, 0, 1046, {1, 2, .bwScaleOffsetEncoding = {12, 1, 0}}, 2, {2, 2}, 0`,
		`"y", 1, 0, 534, {2147483647, 2147483647, .scaleOffsetEncoding = {0.0, 0}}, 1, {2}, 0`
	tensor := func(id, rest, data string) string { return `{1, .v1 = {` + id + `, ` + rest + `, {` + data + `}}}` }
	param := func(name, number, rest, data string) string {
		return `{1, "` + name + `", .tensorParam = ` + tensor("tensor_"+number, `"sum.`+name+`", 4, 0, `+rest+`, 0`, data) + `}`
	}
	const none = `{2147483647, 2147483647, .scaleOffsetEncoding = {0.0, 0}}`
	saved := readSaved(t)
	require.Equal(t, []string{
		`{1, .v1 = {"product", "qti.aisw", "FullyConnected", 1, {{0, "keep_dims", .scalarParam = {1288, .bool8Value = 1}}}, 2, {` +
			tensor("tensor_0", x, "NULL, 0") + `, ` + tensor("tensor_1", w, "data[8], 8") + `}, 1, {` + tensor("tensor_2", h, "NULL, 0") + `}}}`,
		`{1, .v1 = {"sum", "qti.aisw", "ReduceSum", 4, {` + param("axes", "4", "306, "+none+", 1, {1}", "data[1], 4") +
			`, {0, "shift", .scalarParam = {50, .int32Value = -3}}, {0, "by", .scalarParam = {562, .floatValue = 1.5}}, ` +
			param("ranges", "5", "50, "+none+", 2, {1, 3}", "data[3], 12") + `}, 1, {` + tensor("tensor_2", h, "NULL, 0") + `}, 1, {` + tensor("tensor_3", y, "NULL, 0") + `}}}`,
	}, saved.calls("graphAddNode"))
	require.Len(t, saved.calls("backendValidateOpConfig"), 2)
	require.Equal(t, []string{`{` + tensor("tensor_0", x, "data[8], 16") + `}, 1, {` + tensor("tensor_3", y, "data[1], 4") + `}, 1, NULL, NULL`}, saved.calls("graphExecute"))
	data := savedFile(t, "params.bin")
	require.Contains(t, data, string(in), "bytes of an execution")
	require.Contains(t, data, string(d.Tensors[1].Data), "bytes of a constant")
}

// saved is the C program that the library writes: its variables by name.
type saved struct {
	text   string
	values map[string]string
}

var (
	savedValue = regexp.MustCompile(`(?m)^ +(?:static )?\w+\*? (\w+)(?:\[\d*\])? = (.*);$`)
	savedBytes = regexp.MustCompile(`(?m)^ +static \w+ (\w+)(\[\d+\]);$`)
	savedCast  = regexp.MustCompile(`\((?:Qnn_\w+|void\*)\)`)
	savedID    = regexp.MustCompile(`context_0_sample_(tensor_\d+)\.v1\.id`)
	savedName  = regexp.MustCompile(`\w+`)
)

func readSaved(t *testing.T) saved {
	t.Helper()
	text := savedFile(t, "saver_output.c")
	s := saved{savedID.ReplaceAllString(savedCast.ReplaceAllString(text, ""), "$1"), map[string]string{}}
	for _, m := range savedValue.FindAllStringSubmatch(s.text, -1) {
		s.values[m[1]] = m[2]
	}
	for _, m := range savedBytes.FindAllStringSubmatch(s.text, -1) {
		s.values[m[1]] = "data" + m[2]
	}
	return s
}

// savedFile reads what the library writes: on x86-64 into a folder, elsewhere not.
func savedFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("saver_output", name))
	if err != nil {
		text, err = os.ReadFile(name)
	}
	require.NoError(t, err)
	return string(text)
}

// calls returns what a function was given behind its handle, in order, variables
// being replaced by their values.
func (s saved) calls(function string) (args []string) {
	for _, m := range regexp.MustCompile(`interface\.`+function+`\(\w+, (.*)\)\);`).FindAllStringSubmatch(s.text, -1) {
		args = append(args, s.value(m[1]))
	}
	return args
}

func (s saved) value(text string) string {
	return savedName.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := s.values[name]; ok {
			return s.value(v)
		}
		return name
	})
}

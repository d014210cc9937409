package passes

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/ir"
	"estream/lower"
)

// wanted returns the module that a file of testdata wants.
func wanted(t *testing.T, file string) *ir.Module {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file + ".txtar")
	require.NoError(t, err)
	return parse(t, section(txtar.Parse(b), "want"))
}

func TestRecords(t *testing.T) {
	m := wanted(t, "pack_mix")
	records, err := Records(m, plain)
	require.NoError(t, err)
	require.Len(t, records, 6) // c0, c1, c2, expert0, head.norm, head.proj
	require.Equal(t, Record{Class: "expert0", Len: 13056, Weights: []RecordWeight{
		{Name: "expert.gate.weight", Type: typ(t, "w4g64[128,64]"), Matrix: true, Offset: 0, Size: 4352},
		{Name: "expert.up.weight", Type: typ(t, "w4g64[128,64]"), Matrix: true, Offset: 4352, Size: 4352},
		{Name: "expert.down.weight", Type: typ(t, "w4g64[64,128]"), Matrix: true, Offset: 8704, Size: 4352},
	}}, records["expert0"])
	c1 := records["c1"]
	require.Equal(t, []string{"attn.norm.weight", "attn.q.weight", "attn.k.weight", "attn.v.weight", "attn.o.weight", "ffn.norm.weight",
		"ffn.router.weight", "ffn.bias", "shared.gate.weight", "shared.up.weight", "shared.down.weight"}, names(c1))
	require.Equal(t, RecordWeight{Name: "ffn.bias", Type: typ(t, "f32[8]"), Offset: 13952, Size: 32}, c1.Weights[7])
	require.Equal(t, int64(26688+96*64+2*64), c1.Len)

	// Opening a module changes none of its records.
	require.NoError(t, Run(m, Open(Target{Host: &fake{name: "host"}, Activation: func(ir.DType) ir.DType { return ir.A8 }}), nil))
	opened, err := Records(m, plain)
	require.NoError(t, err)
	require.Equal(t, records, opened)
}

func names(r Record) (ns []string) {
	for _, w := range r.Weights {
		ns = append(ns, w.Name)
	}
	return ns
}

func typ(t *testing.T, s string) ir.Type {
	t.Helper()
	ty, err := ir.ParseType(s)
	require.NoError(t, err)
	return ty
}

// TestBind: the record of a run of the head is laid out when its columns are known.
func TestBind(t *testing.T) {
	m := wanted(t, "split_head")
	records, err := Records(m, plain)
	require.NoError(t, err)
	head := records["head.proj"]
	require.Equal(t, Record{Class: "head.proj", Weights: []RecordWeight{
		{Name: "head.weight", Type: typ(t, "f32[P,4]"), Matrix: true},
		{Name: "head.bias", Type: typ(t, "f32[P]")},
	}}, head)
	run, err := head.Bind(plain, lower.Dims{"P": 5})
	require.NoError(t, err)
	require.Equal(t, Record{Class: "head.proj", Len: 192, Weights: []RecordWeight{
		{Name: "head.weight", Type: typ(t, "f32[5,4]"), Matrix: true, Size: 128},
		{Name: "head.bias", Type: typ(t, "f32[5]"), Offset: 128, Size: 20},
	}}, run)
	_, err = head.Bind(plain, nil)
	require.EqualError(t, err, "record head.proj: weight head.weight: type f32[P,4]: extent P is not bound")
}

// TestRecordsOfStrangers: a package's module may have been written by anyone.
func TestRecordsOfStrangers(t *testing.T) {
	const c0 = "layers c0\n\ngraph c0.body\n  %%1:x = input : f32[T,64]\n  %%2:a.weight = weight offset=%d : f32[64]\n  %%3 = mul %%1 %%2 : f32[T,64]\n" +
		"  %%4:b.weight = weight offset=%d : f32[64]\n  %%5:y = mul %%3 %%4 : f32[T,64]\n  return %%5\n\n" +
		"graph c0.early\n  %%1:x = input : f32[T,64]\n  %%2:a.weight = weight offset=%d : f32[64]\n  %%3:y = mul %%1 %%2 : f32[T,64]\n  return %%3\n"
	for _, c := range []struct {
		a, b, early int
		want        string
	}{
		{0, 256, 0, ""},
		{512, 0, 512, ""},
		{0, 0, 0, "record c0: weight b.weight at 0 overlaps a.weight, 256 bytes at 0: was the layout pass run?"},
		{0, 192, 0, "record c0: weight b.weight at 192 overlaps a.weight, 256 bytes at 0: was the layout pass run?"},
		{-64, 256, -64, "record c0: weight a.weight at offset -64: want a multiple of 64 in the record"},
		{8, 320, 8, "record c0: weight a.weight at offset 8: want a multiple of 64 in the record"},
		{1<<63 - 64, 0, 1<<63 - 64, "record c0: weight a.weight at offset 9223372036854775744: want a multiple of 64 in the record"},
		{0, 256, 64, "record c0: graph c0.early: weight a.weight at offset 64, elsewhere at 0: was the layout pass run?"},
	} {
		m := parse(t, fmt.Sprintf(c0, c.a, c.b, c.early))
		require.NoError(t, m.Verify())
		_, err := Records(m, plain)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
	m := parse(t, strings.ReplaceAll(fmt.Sprintf(c0, 0, 0, 0), "a.weight", "b.weight2"))
	m.Graphs[0].Value("b.weight2").Name = ""
	_, err := Records(m, plain)
	require.EqualError(t, err, "record c0: graph c0.body: weight %2 has no name to be bound by")
}

func TestRouted(t *testing.T) {
	m := wanted(t, "pack_mix")
	for class, want := range map[string]int{"c0": 0, "c1": 8, "c2": 8} {
		callee, n, err := Routed(m, class)
		require.NoError(t, err, class)
		require.Equal(t, want, n, class)
		require.Equal(t, want > 0, callee == "expert0", class)
	}
	moved := parse(t, strings.NewReplacer("graph c1.body", "graph c1.none", "graph c1.route", "graph c1.body").Replace(m.String()))
	_, n, err := Routed(moved, "c1")
	require.NoError(t, err, "the body chooses")
	require.Equal(t, 8, n)
	_, _, err = Routed(wanted(t, "split_bare"), "c0")
	require.EqualError(t, err, "layer class c0: no topk tells how many experts there are")
}

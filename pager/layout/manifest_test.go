package layout

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// valid is a small manifest with something in every field.
func valid() *Manifest {
	const align = 4096
	return &Manifest{
		Version:    Version,
		Align:      align,
		Provenance: []KeyValue{{"source", "tiny"}, {"sha256", "00ff"}},
		Family:     "mixtral",
		Config:     []byte(`{"num_hidden_layers": 2}`),
		Policy:     []KeyValue{{"experts", "w4g64"}, {"router", ""}},
		Ops:        []string{"matmul", "", "softmax"},
		Backends:   []string{"host"},
		Packing:    "host-w4",
		Module:     "module {\n}\n",
		Experts: []Record{
			{Layer: 0, Index: 0, Class: "e", Offset: 0, Length: 4097, CRC: 1, Factors: []float32{0.5, 2, -1}},
			{Layer: 0, Index: 1, Class: "e", Offset: 8192, Length: 1, CRC: 2, Factors: []float32{1}},
			{Layer: 1, Index: 0, Class: "f", Offset: 12288, Length: 4096, CRC: 3},
		},
		Dense: []Record{
			{Layer: 0, Index: 0, Class: "a", Offset: 0, Length: 100, CRC: 4, Factors: []float32{1}},
			{Layer: 1, Index: 0, Class: "a", Offset: 4096, Length: 100, CRC: 5},
			{Layer: 2, Index: 0, Class: "norm", Offset: 8192, Length: 100, CRC: 6},
			{Layer: 2, Index: 1, Class: "head", Offset: 12288, Length: 100, CRC: 7},
		},
		Rows: []Region{
			{Name: "embed", Offset: 16384, Rows: 12, RowStride: 5000, RowBytes: 4999, Factor: 0.25, Blocks: []uint32{8, 9}},
		},
		Files: []FileSum{
			{Name: DenseName, Size: 16384 + 61440},
			{Name: ExpertsName, Size: 16384},
			{Name: "programs.bin", Size: 64, CRC: 10},
			{Name: "tokenizer.json", Size: 0, CRC: 0},
		},
		Artifacts: []Artifact{
			{Backend: "qnn", Arch: "v75", SDK: "2.43", Name: "body", File: "programs.bin", Offset: 16, Length: 48, CRC: 11},
		},
	}
}

func TestStrideAndBlocks(t *testing.T) {
	require.EqualValues(t, 8192, Record{Length: 4097}.Stride(4096))
	require.EqualValues(t, 4096, Record{Length: 4096}.Stride(4096))
	r := valid().Rows[0]
	offset, length := r.Block(0)
	require.Equal(t, [2]int64{16384, BlockSize}, [2]int64{offset, length})
	offset, length = r.Block(1)
	require.Equal(t, [2]int64{16384 + BlockSize, 12*5000 - BlockSize}, [2]int64{offset, length})
}

func TestPlace(t *testing.T) {
	offsets, total, err := Place(4096, 1, 4096, 4097, 8192)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 4096, 8192, 16384}, offsets)
	require.EqualValues(t, 24576, total)

	for _, c := range []struct {
		align int64
		sizes []int64
		want  string
	}{
		{4096, []int64{5, 0}, "place: payload 1 of 0 bytes at 4096"},
		{4096, []int64{-1}, "place: payload 0 of -1 bytes at 0"},
		{4096, []int64{1 << 62, 1 << 62}, "place: payload 1 of 4611686018427387904 bytes at 4611686018427387904"},
		{2048, nil, "model.fb: align: 2048 is not a power of two from 4096 to 16777216"},
	} {
		_, _, err := Place(c.align, c.sizes...)
		require.EqualError(t, err, c.want, "Place(%d, %d)", c.align, c.sizes)
	}
}

// The verifier protects only what it knows of: its tables are the schema's.
func TestTablesFollowSchema(t *testing.T) {
	schema, err := os.ReadFile("manifest.fbs")
	require.NoError(t, err)
	known := map[string]*table{}
	collect(manifestTable(), known)
	types := map[string]field{
		"int": {size: 4}, "uint": {size: 4}, "float": {size: 4}, "long": {size: 8}, "string": {kind: text},
		"[ubyte]": {kind: scalars, size: 1}, "[uint]": {kind: scalars, size: 4}, "[float]": {kind: scalars, size: 4}, "[string]": {kind: texts},
	}
	for name, table := range known {
		types["["+name+"]"] = field{kind: tables, of: table}
	}
	declared := regexp.MustCompile(`(?s)table (\w+) \{(.*?)\}`).FindAllStringSubmatch(string(schema), -1)
	require.Len(t, declared, len(known))
	for _, d := range declared {
		var want []field
		for _, line := range strings.Fields(d[2]) {
			name, kind, _ := strings.Cut(strings.TrimSuffix(line, ";"), ":")
			require.Contains(t, types, kind, "type of %s.%s", d[1], name)
			f := types[kind]
			f.name = name
			want = append(want, f)
		}
		require.Contains(t, known, d[1])
		require.Equal(t, want, known[d[1]].fields, "table %s", d[1])
	}
}

func collect(t *table, into map[string]*table) {
	into[t.name] = t
	for _, f := range t.fields {
		if f.of != nil {
			collect(f.of, into)
		}
	}
}

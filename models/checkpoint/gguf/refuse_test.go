package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
	"estream/models/checkpoint/gguf"
)

type (
	pair   = checkpointtest.Pair
	stored = checkpointtest.Stored
)

// small is a file of two tensors.
func small() checkpointtest.GGUF {
	return checkpointtest.GGUF{
		Pairs:   []pair{{"general.architecture", "x"}, {"list", []string{"a", "bc"}}, {"numbers", []int32{1, 2, 3}}},
		Tensors: []stored{checkpointtest.StoredF32("a", []int{2, 3}, 1, 2, 3, 4, 5, 6), checkpointtest.StoredF32("b", []int{5}, 7, 8, 9, 10, 11)},
	}
}

// raw writes numbers of 4 and 8 bytes, and texts as they are.
func raw(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(b, p...)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, p)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, p)
		}
	}
	return b
}

const huge = uint64(1) << 61

// header begins a file of so many tensors and pairs.
func header(tensors, pairs uint64, parts ...any) []byte {
	return raw(append([]any{"GGUF", uint32(3), tensors, pairs}, parts...)...)
}

// tensor describes one of two dims, that begins at offset.
func tensor(name string, dtype uint32, width, rows, offset uint64) []any {
	return []any{uint64(len(name)), name, uint32(2), width, rows, dtype, offset}
}

// refusals are files and what is wrong with them.
func refusals() map[string]struct {
	file []byte
	want string
} {
	whole := small().Bytes()
	edit := func(change func(*checkpointtest.GGUF)) []byte {
		g := small()
		change(&g)
		return g.Bytes()
	}
	aligned := func(parts ...any) []byte { return append(header(1, 0, parts...), make([]byte, 256)...) }
	type row = struct {
		file []byte
		want string
	}
	return map[string]row{
		"empty":           {nil, "FILE: cut file: 0 bytes, of which the header needs 4 from 0 on: incomplete download or copy"},
		"no counts":       {whole[:10], "FILE: cut file: 10 bytes, of which the header needs 8 from 8 on: incomplete download or copy"},
		"cut in metadata": {whole[:80], "FILE: cut file: 80 bytes, of which the header needs 4 from 77 on: incomplete download or copy"},
		"U12 cut at half": {whole[:len(whole)-32], `FILE: cut file: 288 bytes, want at least 308: incomplete download or copy`},
		"LFS pointer":     {[]byte("version https://git-lfs.github.com/spec/v1\n"), "FILE: cut file: 43 bytes, a Git LFS pointer instead of the file; run git lfs pull"},
		"a web page":      {[]byte("<!DOCTYPE html>"), `FILE: magic: begins with "<!DO", want "GGUF"`},
		"version 1":       {edit(func(g *checkpointtest.GGUF) { g.Version = 1 }), "FILE: version: 1, want 2 or 3; convert the model again"},
		"version 4":       {edit(func(g *checkpointtest.GGUF) { g.Version = 4 }), "FILE: version: 4, want 2 or 3; convert the model again"},
		"big-endian":      {edit(func(g *checkpointtest.GGUF) { g.Version = 3 << 24 }), "FILE: version: big-endian; convert the model again for little-endian machines"},

		"tensors beyond the file": {header(huge, 0), "FILE: cut file: 24 bytes, of which the header needs 8 from 24 on: incomplete download or copy"},
		"pairs beyond the file":   {header(0, math.MaxUint64), "FILE: cut file: 24 bytes, of which the header needs 8 from 24 on: incomplete download or copy"},
		"key beyond the file":     {header(0, 1, huge, "k"), "FILE: cut file: 33 bytes, of which the header needs 2305843009213693952 from 32 on: incomplete download or copy"},
		"long key":                {header(0, 1, uint64(1<<16), strings.Repeat("k", 1<<16)), "FILE: header length: a text of 65536 bytes at 32, want at most 65535"},
		"no key":                  {header(0, 1, uint64(0)), `FILE: duplicate key: ""`},
		"key twice": {edit(func(g *checkpointtest.GGUF) { g.Pairs = append(g.Pairs, pair{"list", uint32(1)}) }),
			`FILE: duplicate key: "list"`},
		"text beyond the file":    {header(0, 1, uint64(1), "k", uint32(8), huge), "FILE: cut file: 45 bytes, of which the header needs 2305843009213693952 from 45 on: incomplete download or copy"},
		"unknown kind":            {header(0, 1, uint64(1), "k", uint32(13)), `FILE: metadata value: "k" is of kind 13, which is unknown`},
		"a flag of 7":             {header(0, 1, uint64(1), "k", uint32(7), "\x07"), `FILE: metadata value: "k" is a flag of 7, want 0 or 1`},
		"array of arrays":         {header(0, 1, uint64(1), "k", uint32(9), uint32(9), uint64(1)), `FILE: metadata value: "k" is an array of kind 9: want numbers, flags or texts`},
		"array of unknown kind":   {header(0, 1, uint64(1), "k", uint32(9), uint32(13), uint64(1)), `FILE: metadata value: "k" is an array of kind 13: want numbers, flags or texts`},
		"array that overflows":    {header(0, 1, uint64(1), "k", uint32(9), uint32(10), huge), `FILE: number: "k" is an array of 2305843009213693952`},
		"array beyond the file":   {header(0, 1, uint64(1), "k", uint32(9), uint32(4), huge), "FILE: cut file: 49 bytes, of which the header needs 9223372036854775808 from 49 on: incomplete download or copy"},
		"texts beyond the file":   {header(0, 1, uint64(1), "k", uint32(9), uint32(8), huge*4), "FILE: cut file: 49 bytes, of which the header needs 18446744073709551608 from 49 on: incomplete download or copy"},
		"texts cut":               {header(0, 1, uint64(1), "k", uint32(9), uint32(8), uint64(2), uint64(9), "12345678"), "FILE: cut file: 65 bytes, of which the header needs 9 from 57 on: incomplete download or copy"},
		"long name":               {header(1, 0, uint64(1025), strings.Repeat("n", 1025)), "FILE: header length: a text of 1025 bytes at 32, want at most 1024"},
		"no dims":                 {header(1, 0, uint64(1), "a", uint32(0)), `FILE: tensor "a": shape: 0 dims, want 1 to 4`},
		"five dims":               {header(1, 0, uint64(1), "a", uint32(5)), `FILE: tensor "a": shape: 5 dims, want 1 to 4`},
		"a dim of 0":              {header(1, 0, tensor("a", 0, 4, 0, 0)...), `FILE: tensor "a": shape: dim 1 is 0`},
		"a dim of 2^63":           {header(1, 0, tensor("a", 0, 1<<63, 1, 0)...), `FILE: tensor "a": shape: dim 0 is 9223372036854775808`},
		"dims that overflow":      {header(1, 0, tensor("a", 0, 1<<32, 1<<32, 0)...), `FILE: tensor "a": shape: F32 [4294967296 4294967296] overflows`},
		"bytes that overflow":     {header(1, 0, tensor("a", 0, 1<<31, 1<<31, 0)...), `FILE: tensor "a": shape: F32 [2147483648 2147483648] overflows`},
		"type 4, which was Q4_2":  {header(1, 0, tensor("a", 4, 32, 1, 0)...), `FILE: tensor "a": dtype: ggml type 4 is unknown`},
		"U14 rows of 896 in Q4_K": {header(1, 0, tensor("a", 12, 896, 1, 0)...), `FILE: tensor "a": shape: rows of 896 are no multiple of the 256 that a block of Q4_K has`},
		"offset of 2^63":          {header(1, 0, tensor("a", 0, 4, 1, 1<<63)...), `FILE: tensor "a": offsets: 9223372036854775808 overflows`},
		"offset past the end":     {aligned(tensor("a", 0, 4, 1, 1<<62)...), `FILE: tensor "a": offsets: begins at 4611686018427387904, want 0`},
		"end that overflows":      {aligned(tensor("a", 24, math.MaxInt64, 1, 0)...), `FILE: tensor "a": offsets: ends at 0 plus 9223372036854775807, which overflows`},
		"hole": {append(header(2, 0, append(tensor("a", 0, 4, 1, 0), tensor("b", 0, 4, 1, 64)...)...), make([]byte, 256)...),
			`FILE: tensor "b": offsets: begins at 64, want 32`},
		"overlap": {append(header(2, 0, append(tensor("a", 0, 4, 4, 0), tensor("b", 0, 4, 1, 32)...)...), make([]byte, 256)...),
			`FILE: tensor "b": offsets: begins at 32, want 64`},
		"tensor twice": {edit(func(g *checkpointtest.GGUF) { g.Tensors[1].Name = "a" }), `FILE: tensor "a": duplicate tensor: FILE holds it too`},
		"alignment of 0": {edit(func(g *checkpointtest.GGUF) { g.Pairs = append(g.Pairs, pair{"general.alignment", uint32(0)}) }),
			"FILE: alignment: general.alignment is 0, want a power of two"},
		"alignment of 48": {edit(func(g *checkpointtest.GGUF) { g.Pairs = append(g.Pairs, pair{"general.alignment", uint32(48)}) }),
			"FILE: alignment: general.alignment is 48, want a power of two"},
		"alignment in words": {edit(func(g *checkpointtest.GGUF) { g.Pairs = append(g.Pairs, pair{"general.alignment", "32"}) }),
			`FILE: metadata value: "general.alignment" is a text, want a whole number`},
		"a part under a name of its own": {edit(func(g *checkpointtest.GGUF) {
			g.Pairs = append(g.Pairs, pair{"split.no", uint16(1)}, pair{"split.count", uint16(3)})
		}), "FILE: split: file 2 of 3 under a name of its own; split files are named like x-00001-of-00003.gguf"},
		"fewer tensors than the split has": {edit(func(g *checkpointtest.GGUF) { g.Pairs = append(g.Pairs, pair{"split.tensors.count", int32(3)}) }),
			"FILE: split: 2 tensors in 1 files, want 3"},
	}
}

// Whatever is wrong is told by file, tensor and rule, and takes no more memory than the file has.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gguf")
	for name, c := range refusals() {
		require.NoError(t, os.WriteFile(path, c.file, 0o666))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := checkpoint.Open(path, checkpoint.Options{}, gguf.Format)
		runtime.ReadMemStats(&after)
		got := strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(err), path, "FILE"), "x.gguf", "FILE")
		if got != c.want {
			t.Errorf("%s:\n got: %s\nwant: %s", name, got, c.want)
		}
		if _, typed := errors.AsType[*checkpoint.FormatError](err); !typed {
			t.Errorf("%s: %T is no FormatError", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(c.file))
		}
	}
}

// A value of another kind than it must be is not taken for one that is not there.
func TestKindsOfValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gguf")
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"general.architecture", uint32(1), "a whole number, want a text"},
		{"general.type", true, "a flag, want a text"},
		{"general.alignment", []int32{32}, "an array of whole numbers, want a whole number"},
		{"tokenizer.ggml.model", []string{"gpt2"}, "an array of texts, want a text"},
		{"tokenizer.ggml.pre", float32(1), "a number, want a text"},
		{"tokenizer.chat_template", uint64(1), "a whole number, want a text"},
		{"tokenizer.ggml.tokens", "a b c", "a text, want an array of texts"},
		{"tokenizer.ggml.merges", []int32{1}, "an array of whole numbers, want an array of texts"},
		{"tokenizer.ggml.token_type", []float32{1}, "an array of float32, want an array of whole numbers"},
		{"tokenizer.ggml.scores", []float64{1}, "an array of float64, want an array of float32"},
		{"tokenizer.ggml.scores", []bool{true}, "an array of flags, want an array of float32"},
		{"tokenizer.ggml.add_bos_token", uint16(1), "a whole number, want a flag"},
		{"tokenizer.ggml.add_eos_token", "true", "a text, want a flag"},
		{"tokenizer.ggml.add_space_prefix", float64(0), "a number, want a flag"},
		{"tokenizer.ggml.bos_token_id", float32(1), "a number, want a whole number"},
		{"tokenizer.ggml.padding_token_id", "0", "a text, want a whole number"},
		{"split.no", false, "a flag, want a whole number"},
		{"split.count", "1", "a text, want a whole number"},
		{"split.tensors.count", float32(2), "a number, want a whole number"},
	} {
		g := small()
		g.Pairs = slices.DeleteFunc(g.Pairs, func(p pair) bool { return p[0] == c.key })
		g.Pairs = append(g.Pairs, pair{c.key, c.value})
		require.NoError(t, os.WriteFile(path, g.Bytes(), 0o666))
		_, err := checkpoint.Open(path, checkpoint.Options{}, gguf.Format)
		require.EqualError(t, err, fmt.Sprintf("%s: metadata value: %q is %s", path, c.key, c.want))
	}
}

// A file of version 2, or of another alignment, reads the same.
func TestVersionsAndAlignment(t *testing.T) {
	for _, change := range []func(*checkpointtest.GGUF){
		func(*checkpointtest.GGUF) {},
		func(g *checkpointtest.GGUF) { g.Version = 2 },
		func(g *checkpointtest.GGUF) { g.Align = 8 },
		func(g *checkpointtest.GGUF) { g.Align = 4096 },
	} {
		g := small()
		change(&g)
		path := filepath.Join(t.TempDir(), "x.gguf")
		require.NoError(t, g.Write(path))
		c := open(t, path)
		values, shape := read(t, c, "a")
		require.Equal(t, []int{2, 3}, shape)
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, values)
		values, _ = read(t, c, "b")
		require.Equal(t, []float32{7, 8, 9, 10, 11}, values)
	}
}

// A range of rows is what all of a tensor has there, in every type; ranges that a tensor does not have are refused.
func TestReadRanges(t *testing.T) {
	c := open(t, "testdata/types.gguf")
	for _, x := range c.Tensors() {
		all, shape := read(t, c, x.Name)
		for row := range shape[0] {
			for rows := range shape[0] - row + 1 {
				got := make([]float32, rows*shape[1])
				require.NoError(t, c.Read(t.Context(), x.Name, row, rows, got))
				a, b := new(bytes.Buffer), new(bytes.Buffer)
				require.NoError(t, errors.Join(binary.Write(a, binary.LittleEndian, got), binary.Write(b, binary.LittleEndian, all[row*shape[1]:(row+rows)*shape[1]])))
				require.Equal(t, b.Bytes(), a.Bytes(), "%s, rows %d+%d", x.Name, row, rows)
			}
		}
	}
	path := "testdata/types.gguf"
	for _, r := range []struct {
		name      string
		row, rows int
		room      int
		want      string
	}{
		{"F32", 2, 2, 1024, path + `: tensor "F32": rows [2,2+2) of 3`},
		{"F32", -1, 1, 512, path + `: tensor "F32": rows [-1,-1+1) of 3`},
		{"Q4_0", 0, 1, 511, path + `: tensor "Q4_0": 1 rows of 512 elements do not fit 511`},
		{"none", 0, 1, 512, "checkpoint " + path + `: no tensor "none"`},
	} {
		require.EqualError(t, c.Read(t.Context(), r.name, r.row, r.rows, make([]float32, r.room)), r.want)
	}
}

package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// file puts a header and data together.
func file(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func sized(length uint64, rest string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, length), rest...)
}

// one is a header with the tensor a, given by its fields.
func one(fields string) string { return `{"a":{` + fields + `}}` }

const f32 = `"dtype":"F32","shape":[2],"data_offsets":[0,8]`

// endless describes data to the last offset there is.
func endless() string {
	const most int64 = 1<<60 - 1 // bytes of one tensor
	var b strings.Builder
	for i := range int64(8) {
		fmt.Fprintf(&b, `"%d":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]},`, i, most, i*most, (i+1)*most)
	}
	return fmt.Sprintf(`{%s"8":{"dtype":"U8","shape":[7],"data_offsets":[%d,%d]}}`, b.String(), 8*most, int64(math.MaxInt64))
}

var malformed = []struct {
	name string
	file []byte
	want string // after the path
}{
	{"empty", nil, `cut file: 0 bytes, want at least 8: incomplete download or copy`},
	{"no length", []byte("abc"), `cut file: 3 bytes, want at least 8: incomplete download or copy`},
	{"U03 length 2^63", sized(1<<63, "{}"), `header length: 9223372036854775808 bytes, want at most 100000000`},
	{"length 2^64-1", sized(1<<64-1, "{}"), `header length: 18446744073709551615 bytes, want at most 100000000`},
	{"U03 length over 100 MB", sized(100_000_001, "{}"), `header length: 100000001 bytes, want at most 100000000`},
	{"U12 length past the end", sized(100_000_000, "{}"), `cut file: 10 bytes, want at least 100000008: incomplete download or copy`},
	{"length big-endian", append(binary.BigEndian.AppendUint64(nil, 2), "{}"...), `header length: 144115188075855872 bytes, want at most 100000000`},
	{"length zero", sized(0, ""), `json: begins with "", want {`},
	{"a pointer of Git LFS", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
		`cut file: 63 bytes, a Git LFS pointer instead of the file; run git lfs pull`},

	{"U03 array", file(`[]`, 0), `json: begins with "[]", want {`},
	{"U03 space before {", file(` {}`, 0), `json: begins with " {}", want {`},
	{"byte order mark", file("\ufeff{}", 0), `json: begins with "\ufeff{}", want {`},
	{"not UTF-8", file("{\"\xff\":1}", 0), `json: not UTF-8`},
	{"no closing brace", file(`{`, 0), `json: bad syntax after byte 1`},
	{"no comma", file(`{"a":{`+f32+`}"b":{}}`, 8), `json: bad syntax after byte 53`},
	{"comma at the end", file(`{"a":{`+f32+`},}`, 8), `json: bad syntax after byte 54`},
	{"key without quotes", file(`{a:1}`, 0), `json: bad syntax after byte 1`},
	{"key a number", file(`{1:1}`, 0), `json: bad syntax after byte 1`},
	{"text after", file(`{} {}`, 0), `json: "{}" after the closing brace`},
	{"zero bytes after", file("{}\x00\x00", 0), `json: "\x00\x00" after the closing brace`},
	{"tensor a number", file(`{"a":1}`, 0), `tensor "a": json: the value is 1, want an object`},
	{"tensor null", file(`{"a":null}`, 0), `tensor "a": json: the value is null, want an object`},
	{"tensor an array", file(`{"a":[]}`, 0), `tensor "a": json: the value is [, want an object`},
	{"nested object", file(one(`"dtype":{"dtype":"F32"}`), 0), `tensor "a": json: dtype is {, want a string`},
	{"nested arrays", file(one(`"shape":`+strings.Repeat("[", 1000)), 0), `tensor "a": json: a dim is [, want a number`},
	{"brace closed by bracket", file(`{"a":{`+f32+`]}`, 8), `tensor "a": json: bad syntax after byte 52`},

	{"U03 duplicate tensor", file(`{"a":{`+f32+`},"a":{`+f32+`}}`, 8), `duplicate key: "a"`},
	{"U03 duplicate tensor, escaped", file(`{"a":{`+f32+`},"\u0061":{`+f32+`}}`, 8), `duplicate key: "a"`},
	{"duplicate field", file(one(f32+`,"dtype":"I32"`), 8), `tensor "a": duplicate key: "dtype"`},
	{"duplicate metadata", file(`{"__metadata__":{},"__metadata__":{}}`, 0), `duplicate key: "__metadata__"`},
	{"duplicate key in metadata", file(`{"__metadata__":{"k":"1","k":"2"}}`, 0), `duplicate key: "k"`},

	{"metadata null", file(`{"__metadata__":null}`, 0), `json: __metadata__ is null, want an object`},
	{"metadata of numbers", file(`{"__metadata__":{"k":1}}`, 0), `metadata: "k" is 1, want a string`},
	{"metadata of objects", file(`{"__metadata__":{"k":{"l":"m"}}}`, 0), `metadata: "k" is {, want a string`},

	{"no fields", file(one(``), 0), `tensor "a": fields: 0 of dtype, shape and data_offsets`},
	{"no dtype", file(one(`"shape":[2],"data_offsets":[0,8]`), 8), `tensor "a": fields: 2 of dtype, shape and data_offsets`},
	{"another field", file(one(f32+`,"strides":[1]`), 8), `tensor "a": fields: "strides" is unknown`},
	{"field in capitals", file(one(`"DType":"F32","shape":[2],"data_offsets":[0,8]`), 8), `tensor "a": fields: "DType" is unknown`},

	{"dtype unknown", file(one(`"dtype":"F128","shape":[],"data_offsets":[0,16]`), 16), `tensor "a": dtype: "F128" is unknown`},
	{"dtype in small letters", file(one(`"dtype":"f32","shape":[],"data_offsets":[0,4]`), 4), `tensor "a": dtype: "f32" is unknown`},
	{"dtype empty", file(one(`"dtype":"","shape":[],"data_offsets":[0,4]`), 4), `tensor "a": dtype: "" is unknown`},
	{"dtype a number", file(one(`"dtype":32,"shape":[],"data_offsets":[0,4]`), 4), `tensor "a": json: dtype is 32, want a string`},

	{"dim negative", file(one(`"dtype":"F32","shape":[-2],"data_offsets":[0,8]`), 8), `tensor "a": number: a dim is -2, want a whole number of 0 to 2^63-1`},
	{"dim fractional", file(one(`"dtype":"F32","shape":[2.5],"data_offsets":[0,8]`), 8), `tensor "a": number: a dim is 2.5, want a whole number of 0 to 2^63-1`},
	{"dim with exponent", file(one(`"dtype":"F32","shape":[2e0],"data_offsets":[0,8]`), 8), `tensor "a": number: a dim is 2e0, want a whole number of 0 to 2^63-1`},
	{"dim 2^63", file(one(`"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]`), 8),
		`tensor "a": number: a dim is 9223372036854775808, want a whole number of 0 to 2^63-1`},
	{"dim a string", file(one(`"dtype":"F32","shape":["2"],"data_offsets":[0,8]`), 8), `tensor "a": json: a dim is the string "2", want a number`},
	{"dim with leading zero", file(one(`"dtype":"F32","shape":[02],"data_offsets":[0,8]`), 8), `tensor "a": json: bad syntax after byte 30`},
	{"shape a number", file(one(`"dtype":"F32","shape":2,"data_offsets":[0,8]`), 8), `tensor "a": json: shape is 2, want an array`},
	{"65 dims", file(one(`"dtype":"U8","shape":[1`+strings.Repeat(",1", 64)+`],"data_offsets":[0,1]`), 1), `tensor "a": shape: more than 64 dims`},
	{"U03 shape overflows", file(one(`"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]`), 0),
		`tensor "a": shape: U8 [4294967296 4294967296] overflows`},
	{"U03 shape overflows beside a zero", file(one(`"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]`), 0),
		`tensor "a": shape: U8 [0 4294967296 4294967296] overflows`},
	{"bits overflow", file(one(`"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,0]`), 0),
		`tensor "a": shape: F32 [1152921504606846976] overflows`},
	{"shape too large", file(one(`"dtype":"F32","shape":[3],"data_offsets":[0,8]`), 8), `tensor "a": shape: F32 [3] is 12 bytes, its offsets span 8`},
	{"shape too small", file(one(`"dtype":"F32","shape":[],"data_offsets":[0,8]`), 8), `tensor "a": shape: F32 [] is 4 bytes, its offsets span 8`},
	{"half a byte", file(one(`"dtype":"F4","shape":[3],"data_offsets":[0,2]`), 2), `tensor "a": shape: F4 [3] is not whole bytes`},
	{"six bits", file(one(`"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,2]`), 2), `tensor "a": shape: F6_E2M3 [2] is not whole bytes`},

	{"one offset", file(one(`"dtype":"F32","shape":[2],"data_offsets":[8]`), 8), `tensor "a": offsets: 1, want two`},
	{"three offsets", file(one(`"dtype":"F32","shape":[2],"data_offsets":[0,8,8]`), 8), `tensor "a": offsets: more than two`},
	{"offset negative", file(one(`"dtype":"F32","shape":[2],"data_offsets":[-8,0]`), 8), `tensor "a": number: an offset is -8, want a whole number of 0 to 2^63-1`},
	{"offset fractional", file(one(`"dtype":"F32","shape":[2],"data_offsets":[0,8.0]`), 8), `tensor "a": number: an offset is 8.0, want a whole number of 0 to 2^63-1`},
	{"offsets backwards", file(one(`"dtype":"F32","shape":[2],"data_offsets":[8,0]`), 8), `tensor "a": offsets: begin 8 is after end 0`},
	{"U03 offsets overflow", file(endless(), 0), `offsets: data ends at 9223372036854775807, which overflows`},
	{"U03 data of 2^60", file(one(`"dtype":"U8","shape":[1152921504606846975],"data_offsets":[0,1152921504606846975]`), 0),
		`cut file: 97 bytes, want 1152921504606847072: incomplete download or copy`},

	{"U03 hole at the start", file(one(`"dtype":"F32","shape":[2],"data_offsets":[4,12]`), 12), `tensor "a": hole: begins at 4, want 0`},
	{"U03 hole between", file(`{"a":{`+f32+`},"b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]}}`, 10), `tensor "b": hole: begins at 9, want 8`},
	{"U03 overlap", file(`{"a":{`+f32+`},"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}}`, 10), `tensor "b": overlap: begins at 6, want 8`},
	{"U03 the same bytes", file(`{"a":{`+f32+`},"b":{`+f32+`}}`, 8), `tensor "b": overlap: begins at 0, want 8`},
	{"empty tensor inside another", file(`{"a":{`+f32+`},"b":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}}`, 8), `tensor "b": overlap: begins at 4, want 8`},
	{"U12 data cut", file(one(f32), 7), `cut file: 69 bytes, want 70: incomplete download or copy`},
	{"U12 data absent", file(one(f32), 0), `cut file: 62 bytes, want 70: incomplete download or copy`},
	{"bytes after", file(one(f32), 9), `excess bytes: 71 bytes, want 70`},
	{"bytes without tensors", file(`{}`, 1), `excess bytes: 11 bytes, want 10`},
}

var wellFormed = []struct {
	name string
	file []byte
	want string
}{
	{"no tensors", file(`{}`, 0), ``},
	{"padding", file("{}  \n\t ", 0), ``},
	{"metadata", file(`{"__metadata__":{"format":"pt"},"a":{`+f32+`}}`, 8), `a F32 [2] 93:101`},
	{"spaces", file(`{ "a" : { "dtype" : "F32" , "shape" : [ 2 ] , "data_offsets" : [ 0 , 8 ] } }`, 8), `a F32 [2] 84:92`},
	{"scalar and empty", file(`{"s":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},"e":{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]}}`, 2),
		`e F32 [3 0] 117:117, s BF16 [] 117:119`},
	{"data in another order", file(`{"a":{"dtype":"F4","shape":[3,2],"data_offsets":[3,6]},"b":{"dtype":"F6_E3M2","shape":[4],"data_offsets":[0,3]}}`, 6),
		`b F6_E3M2 [4] 120:123, a F4 [3 2] 123:126`},
	{"name in another script", file(`{"\u03b1\"":{`+f32+`}}`, 8), `α" F32 [2] 69:77`},
}

func TestMalformedFiles(t *testing.T) {
	dir := t.TempDir()
	for _, c := range malformed {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, "x.safetensors")
			if err := os.WriteFile(path, c.file, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path, Options{}, SafeTensors)
			if got, want := fmt.Sprint(err), path+": "+c.want; got != want {
				t.Fatalf("file %.200q\n got: %s\nwant: %s", c.file, got, want)
			}
			broken, ok := errors.AsType[*FormatError](err)
			if !ok || broken.File != path || !strings.Contains(c.want, string(broken.Rule)+": ") {
				t.Fatalf("file %.200q: got %#v", c.file, broken)
			}
		})
	}
}

func TestWellFormedFiles(t *testing.T) {
	for _, c := range wellFormed {
		t.Run(c.name, func(t *testing.T) {
			entries, err := parseHeader("x", bytes.NewReader(c.file), int64(len(c.file)))
			if err != nil {
				t.Fatalf("file %q: %v", c.file, err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, fmt.Sprintf("%s %s %v %d:%d", e.Name, e.DType, e.Shape, e.begin, e.end))
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Fatalf("file %q\n got: %s\nwant: %s", c.file, got, c.want)
			}
		})
	}
}

// Whatever a file says, reading its header takes memory in proportion to its own size.
func TestAllocationIsBounded(t *testing.T) {
	const n = 1 << 20
	files := map[string][]byte{
		"nested arrays":  file(one(`"shape":`+strings.Repeat("[", n)), 0),
		"nested objects": file(strings.Repeat(`{"a":`, n/5), 0),
		"many dims":      file(one(`"shape":[`+strings.Repeat("0,", n/2)+`0]`), 0),
		"long name":      file(`{"`+strings.Repeat("a", n)+`":1}`, 0),
		"many tensors":   file(`{`+strings.Repeat(`"a":{`+f32+`},`, n/50)+`}`, 8),
		"huge length":    sized(maxHeader, strings.Repeat("{", n)),
		"huge shape":     file(one(`"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]`), n),
	}
	for name, b := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parseHeader("x", bytes.NewReader(b), int64(len(b)))
		runtime.ReadMemStats(&after)
		if got := fmt.Sprint(err); err == nil || len(got) > 300 {
			t.Errorf("%s: got error %.400s", name, got)
		}
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(10*len(b)); got > most {
			t.Errorf("%s: allocated %d bytes for a file of %d, want at most %d", name, got, len(b), most)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, c := range malformed {
		f.Add(c.file)
	}
	for _, c := range wellFormed {
		f.Add(c.file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseHeader("x", bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		at := int64(8 + binary.LittleEndian.Uint64(b))
		names := map[string]bool{}
		for _, e := range entries {
			n, ok := elements(e.Shape)
			if !ok || e.begin != at || e.Bytes != e.end-e.begin || e.Bytes*8 != n*int64(e.DType.Bits()) || names[e.Name] {
				t.Fatalf("file %q: entry %+v at %d", b, e, at)
			}
			at, names[e.Name] = e.end, true
		}
		if at != int64(len(b)) {
			t.Fatalf("file %q of %d bytes: the tensors end at %d", b, len(b), at)
		}
	})
}

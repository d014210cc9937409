package npz

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"estream/ir/quant"
	"estream/models/checkpoint"
)

// An array is where an array's values are.
type array struct {
	kind        kind
	shape       []int
	begin, size int64 // bytes of the file
}

// A kind is a type of elements.
type kind struct {
	dtype  checkpoint.DType
	bytes  int
	decode func(dst []float32, src []byte)
}

// kinds are those that can be weights, by NumPy's names of them.
func kinds() map[string]kind {
	le := binary.LittleEndian
	return map[string]kind{
		"<f2": {"F16", 2, each(2, func(b []byte) float32 { return quant.FromF16(le.Uint16(b)) })},
		"<f4": {"F32", 4, each(4, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) })},
		"<f8": {"F64", 8, each(8, func(b []byte) float32 { return float32(math.Float64frombits(le.Uint64(b))) })},
	}
}

func each(width int, value func(b []byte) float32) func(dst []float32, src []byte) {
	return func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = value(src[i*width:])
		}
	}
}

const (
	magic     = "\x93NUMPY"
	maxHeader = 64 << 10
)

// header reads the header of the .npy array in f: the magic, a version, the length
// of a text and the text, a Python dictionary.
func (a *archive) header(name string, f *zip.File) (x array, err error) {
	fail := func(format string, args ...any) (array, error) {
		return array{}, a.fail(name, "npy header", fmt.Sprintf(format, args...))
	}
	if x.begin, err = f.DataOffset(); err != nil {
		return fail("%v", err)
	}
	length := int64(min(f.CompressedSize64, math.MaxInt64))
	if x.begin < 0 || x.begin > a.size || length > a.size-x.begin {
		return fail("%d bytes at %d, and the file has %d", length, x.begin, a.size)
	}
	var fixed [12]byte
	if length < int64(len(fixed)) {
		return fail("%d bytes are none", length)
	}
	if err := checkpoint.ReadAt(a.file, fixed[:], x.begin); err != nil {
		return fail("%v", err)
	}
	at, n := int64(12), int64(binary.LittleEndian.Uint32(fixed[8:]))
	if fixed[6] == 1 {
		at, n = 10, int64(binary.LittleEndian.Uint16(fixed[8:]))
	}
	switch {
	case string(fixed[:6]) != magic:
		return fail("begins with %q, want %q", fixed[:6], magic)
	case fixed[6] < 1 || fixed[6] > 3:
		return fail("version %d, want 1, 2 or 3", fixed[6])
	case n > maxHeader || n > length-at:
		return fail("%d bytes long, of %d", n, length)
	}
	text := make([]byte, n)
	if err := checkpoint.ReadAt(a.file, text, x.begin+at); err != nil {
		return fail("%v", err)
	}
	if x.kind, x.shape, err = parse(string(text)); err != nil {
		return fail("%v", err)
	}
	x.begin, x.size = x.begin+at+n, length-at-n
	if want := elements(x.shape) * int64(x.kind.bytes); want != x.size {
		return fail("shape %v of %s, and %d bytes of values", x.shape, x.kind.dtype, x.size)
	}
	return x, nil
}

// entry is one of the dictionary's.
var entry = regexp.MustCompile(`'(descr|fortran_order|shape)': *('[^']*'|True|False|\([0-9, ]*\)) *,? *`)

// parse reads the dictionary.
func parse(text string) (k kind, shape []int, err error) {
	inner, opens := strings.CutPrefix(strings.TrimSpace(text), "{")
	inner, closes := strings.CutSuffix(inner, "}")
	fields := map[string]string{}
	for _, m := range entry.FindAllStringSubmatch(inner, -1) {
		fields[m[1]] = m[2]
	}
	if !opens || !closes || len(fields) != 3 || entry.ReplaceAllString(inner, "") != "" {
		return kind{}, nil, fmt.Errorf("%.100q is no dictionary of descr, fortran_order and shape", text)
	}
	k, ok := kinds()[strings.Trim(fields["descr"], "'")]
	if !ok {
		return kind{}, nil, fmt.Errorf("descr is %.40s, want '<f2', '<f4' or '<f8'", fields["descr"])
	}
	for _, d := range strings.FieldsFunc(fields["shape"], func(r rune) bool { return strings.ContainsRune("(), ", r) }) {
		n, err := strconv.Atoi(d)
		if err != nil || n < 1 {
			return kind{}, nil, fmt.Errorf("shape is %.60s, want extents from 1", fields["shape"])
		}
		shape = append(shape, n)
	}
	if fields["fortran_order"] != "False" && len(shape) > 1 {
		return kind{}, nil, fmt.Errorf("fortran_order is %s: save numpy.ascontiguousarray of the array", fields["fortran_order"])
	}
	return k, shape, nil
}

// elements multiplies extents; a product that overflows is negative.
func elements(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		if n > math.MaxInt64/8/int64(d) {
			return -1
		}
		n *= int64(d)
	}
	return n
}

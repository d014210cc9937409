package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

type tensors = map[string]checkpointtest.Tensor

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError compares err with a text in which DIR stands for dir.
func wantError(t testing.TB, err error, dir, want string) {
	t.Helper()
	if got := strings.ReplaceAll(fmt.Sprint(err), dir, "DIR"); got != want {
		t.Fatalf("\n got: %s\nwant: %s", got, want)
	}
}

// tempDir is a new folder whose path has no links.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// openFile writes tensors to a file and opens it.
func openFile(t testing.TB, tensors tensors) (checkpoint.Checkpoint, string) {
	t.Helper()
	path := filepath.Join(tempDir(t), "x.safetensors")
	must(t, checkpointtest.Write(path, tensors))
	return open(t, path), path
}

func open(t testing.TB, path string) checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Open(path, checkpoint.Options{}, checkpoint.SafeTensors)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// random makes a tensor of random bits.
func random(d checkpoint.DType, shape ...int) checkpointtest.Tensor {
	bits := d.Bits()
	for _, n := range shape {
		bits *= n
	}
	r := rand.NewChaCha8([32]byte{1})
	data := make([]byte, bits/8)
	r.Read(data)
	return checkpointtest.Tensor{DType: d, Shape: shape, Data: data}
}

// Ranges of a tensor that takes several reads hold the same values as all of it, also where rows begin inside a byte
// (odd rows of F4 and F6).
func TestReadRanges(t *testing.T) {
	for _, c := range []struct {
		dtype      checkpoint.DType
		rows, cols int
	}{
		{"F4", 2000, 333}, {"F6_E2M3", 1000, 503}, {"F6_E3M2", 8, 101}, {"F8_E4M3", 600, 501}, {"BF16", 501, 301},
		{"F16", 3, 70001}, {"F32", 301, 300}, {"F64", 64, 1023}, {"I16", 501, 301}, {"BOOL", 9, 9}, {"U64", 64, 1023},
	} {
		t.Run(string(c.dtype), func(t *testing.T) {
			ck, _ := openFile(t, tensors{"before": random("F8_E5M2", 5), "w": random(c.dtype, c.rows, c.cols), "x": random("F4", 2)})
			whole := make([]float32, c.rows*c.cols)
			must(t, ck.Read(t.Context(), "w", 0, c.rows, whole))
			r := rand.New(rand.NewPCG(1, 2))
			for range 30 {
				row := r.IntN(c.rows + 1)
				rows := r.IntN(c.rows + 1 - row)
				got := make([]float32, rows*c.cols)
				must(t, ck.Read(t.Context(), "w", row, rows, got))
				for i, v := range got {
					if want := whole[row*c.cols+i]; v != want && v == v {
						t.Fatalf("rows [%d,%d+%d) element %d: got %v, want %v", row, row, rows, i, v, want)
					}
				}
			}
		})
	}
}

func TestReadPackedOrder(t *testing.T) {
	ck, _ := openFile(t, tensors{
		"f4": {DType: "F4", Shape: []int{2, 3}, Data: []byte{0x21, 0x43, 0x65}},          // codes 1..6, low half first
		"f6": {DType: "F6_E2M3", Shape: []int{4}, Data: []byte{0x08 | 0<<6, 0x01, 0x40}}, // codes 8, 16, 0, 16 from the lowest bit up
	})
	for _, c := range []struct {
		name      string
		row, rows int
		want      []float32
	}{
		{"f4", 0, 2, []float32{0.5, 1, 1.5, 2, 3, 4}},
		{"f4", 1, 1, []float32{2, 3, 4}},
		{"f6", 0, 4, []float32{1, 0.5, 0, 2}},
		{"f6", 3, 1, []float32{2}},
	} {
		got := make([]float32, len(c.want))
		must(t, ck.Read(t.Context(), c.name, c.row, c.rows, got))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s rows [%d,%d+%d): got %v, want %v", c.name, c.row, c.row, c.rows, got, c.want)
		}
	}
}

func TestReadShapes(t *testing.T) {
	ck, _ := openFile(t, tensors{
		"scalar": checkpointtest.F32(nil, 7),
		"vector": checkpointtest.BF16([]int{3}, 1, 2, 3),
		"cube":   checkpointtest.F32([]int{2, 1, 2}, 1, 2, 3, 4),
		"empty":  checkpointtest.F32([]int{2, 0}),
	})
	for _, c := range []struct {
		name      string
		row, rows int
		want      []float32
	}{
		{"scalar", 0, 1, []float32{7}},
		{"vector", 1, 2, []float32{2, 3}},
		{"vector", 3, 0, []float32{}},
		{"cube", 1, 1, []float32{3, 4}},
		{"empty", 0, 2, []float32{}},
	} {
		got := make([]float32, len(c.want))
		must(t, ck.Read(t.Context(), c.name, c.row, c.rows, got))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s rows [%d,%d+%d): got %v, want %v", c.name, c.row, c.row, c.rows, got, c.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	ck, path := openFile(t, tensors{
		"w": checkpointtest.F32([]int{2, 2}, 1, 2, 3, 4),
		"z": {DType: "C64", Shape: []int{1}, Data: make([]byte, 8)},
	})
	const huge = int(^uint(0) >> 1)
	for _, c := range []struct {
		name           string
		row, rows, dst int
		want           string
	}{
		{"W", 0, 1, 2, `checkpoint DIR: no tensor "W"`},
		{"w", 1, 2, 4, `DIR/x.safetensors: tensor "w": rows [1,1+2) of 2`},
		{"w", -1, 1, 2, `DIR/x.safetensors: tensor "w": rows [-1,-1+1) of 2`},
		{"w", 0, -1, 0, `DIR/x.safetensors: tensor "w": rows [0,0+-1) of 2`},
		{"w", huge, huge, 2, fmt.Sprintf(`DIR/x.safetensors: tensor "w": rows [%d,%d+%d) of 2`, huge, huge, huge)},
		{"w", 0, 2, 3, `DIR/x.safetensors: tensor "w": 2 rows of 2 elements do not fit 3`},
		{"w", 0, 1, 3, `DIR/x.safetensors: tensor "w": 1 rows of 2 elements do not fit 3`},
		{"z", 0, 1, 1, `DIR/x.safetensors: tensor "z": C64 does not decode to float32`},
	} {
		err := ck.Read(t.Context(), c.name, c.row, c.rows, make([]float32, c.dst))
		wantError(t, err, filepath.Dir(path), c.want)
	}
}

func TestReadStops(t *testing.T) {
	ck, path := openFile(t, tensors{"w": random("F32", 4)})
	dst := make([]float32, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ck.Read(ctx, "w", 0, 4, dst); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: got %v", err)
	}
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Truncate(path, info.Size()-4))
	err = ck.Read(t.Context(), "w", 0, 4, dst)
	wantError(t, err, filepath.Dir(path), fmt.Sprintf(`DIR/x.safetensors: tensor "w": read 12 of 16 bytes at %d: unexpected EOF`, info.Size()-16))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after a cut: got %v", err)
	}
	must(t, ck.Close())
	if err := ck.Read(t.Context(), "w", 0, 4, dst); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after close: got %v", err)
	}
}

func TestReadConcurrently(t *testing.T) {
	const rows, cols = 512, 1000
	values := make([]float32, rows*cols)
	for i := range values {
		values[i] = float32(i)
	}
	ck, _ := openFile(t, tensors{"w": checkpointtest.F32([]int{rows, cols}, values...)})
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range 20 {
				row := r.IntN(rows)
				n := r.IntN(rows - row)
				got := make([]float32, n*cols)
				if err := ck.Read(t.Context(), "w", row, n, got); err != nil || !slices.Equal(got, values[row*cols:(row+n)*cols]) {
					t.Errorf("rows [%d,%d+%d): wrong values, error %v", row, row, n, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestReadDoesNotAllocate(t *testing.T) {
	ck, _ := openFile(t, tensors{"w": random("BF16", 1024, 1024)})
	dst := make([]float32, 1024*1024)
	ctx := t.Context()
	read := func() {
		if err := ck.Read(ctx, "w", 0, 1024, dst); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(20, read); n >= 1 { // a collection may empty the pool
		t.Errorf("a read of 2 MiB: %v allocations", n)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, d := range []checkpoint.DType{"F32", "BF16", "F16", "F8_E4M3", "F4"} {
		b.Run(string(d), func(b *testing.B) {
			w := random(d, 1024, 1024)
			ck, _ := openFile(b, tensors{"w": w})
			dst := make([]float32, 1024*1024)
			b.SetBytes(int64(len(w.Data)))
			for b.Loop() {
				must(b, ck.Read(b.Context(), "w", 0, 1024, dst))
			}
		})
	}
}

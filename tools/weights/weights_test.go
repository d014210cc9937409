package weights

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/host/kernel"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/tools/pack"
)

const testdata = "../../testdata/"

// reversed is a packing that has no blocks of rows: the host's, from its end to its
// beginning.
var reversed = lower.Packing{
	Name: "reversed", Size: kernel.Packing.Size,
	Pack: func(dst []byte, m *quant.Matrix) error {
		err := kernel.Packing.Pack(dst, m)
		slices.Reverse(dst)
		return err
	},
	Unpack: func(src []byte, t ir.Type) (*quant.Matrix, error) {
		src = slices.Clone(src)
		slices.Reverse(src)
		return kernel.Packing.Unpack(src, t)
	},
}

func ops(t testing.TB) ir.Ops {
	t.Helper()
	o, err := ir.Core()
	require.NoError(t, err)
	return o
}

// packedAs packs a checkpoint of the repository.
func packedAs(t testing.TB, from, encoding string, p lower.Packing) string {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "p")
	_, err = pack.Run(t.Context(), testdata+from, dir, pack.Options{Encoding: e, Backend: "host", Packing: p, Families: all.Families(), Formats: all.Formats()})
	require.NoError(t, err)
	return dir
}

func openPackage(t testing.TB, dir string) *Set {
	t.Helper()
	s, err := OpenPackage(dir, ops(t), append(host.New(host.Options{}).Packings(), reversed))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func openCheckpoint(t testing.TB, path string) *Set {
	t.Helper()
	c, err := checkpoint.Open(path, checkpoint.Options{}, all.Formats()...)
	require.NoError(t, err)
	s, err := OpenCheckpoint(c, all.Families())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// values reads a whole tensor, so many rows at a time.
func values(t testing.TB, x Tensor, rows int) []float32 {
	t.Helper()
	read, out := x.Open(), make([]float32, x.Values())
	for row := 0; row < x.Rows(); row += rows {
		n := min(rows, x.Rows()-row)
		require.NoError(t, read(t.Context(), row, out[row*x.Width():][:n*x.Width()]), x.ID.String())
	}
	return out
}

// A package of f32 has the very tensors and values of its checkpoint, however many
// rows are read at a time.
func TestPackageIsItsCheckpoint(t *testing.T) {
	for _, family := range []string{"olmoe", "mixtral", "qwen3", "lfm2", "deepseek"} {
		a, b := openCheckpoint(t, testdata+family), openPackage(t, packedAs(t, family, "f32", kernel.Packing))
		require.NotNil(t, a.Module)
		require.NotNil(t, b.Module)
		require.Len(t, b.Tensors, len(a.Tensors), family)
		for i, x := range a.Tensors {
			y := b.Tensors[i]
			require.Equal(t, []any{x.ID, x.Shape}, []any{y.ID, y.Shape}, family)
			want := values(t, x, x.Rows())
			for _, rows := range []int{y.BlockRows(), 33} {
				require.Equal(t, want, values(t, y, rows), "%s %s by %d rows", family, x.ID, rows)
			}
			require.Equal(t, want, values(t, x, 13), "%s %s of the checkpoint by 13 rows", family, x.ID)
		}
	}
}

// Codes are the same values in a packing that has panels and in one that has not.
func TestPackings(t *testing.T) {
	for _, encoding := range []string{"w4", "w4full", "bf16"} {
		a, b := openPackage(t, packedAs(t, "olmoe", encoding, kernel.Packing)), openPackage(t, packedAs(t, "olmoe", encoding, reversed))
		require.Len(t, b.Tensors, len(a.Tensors))
		for i, x := range a.Tensors {
			require.Equal(t, x.Type, b.Tensors[i].Type)
			require.Equal(t, values(t, x, 9), values(t, b.Tensors[i], 9), "%s %s", encoding, x.ID)
			same, err := Identical(t.Context(), x, x)
			require.NoError(t, err)
			require.True(t, same, x.ID.String())
			same, err = Identical(t.Context(), x, b.Tensors[i])
			require.NoError(t, err)
			require.Equal(t, len(x.strips[0].packing) == 0, same, "%s %s", encoding, x.ID)
		}
	}
	for _, c := range []struct {
		p    lower.Packing
		d    ir.DType
		want bool
	}{
		{kernel.Packing, ir.F32, true}, {kernel.Packing, ir.BF16, true}, {kernel.Packing, ir.W8, false}, {kernel.Packing, ir.W4G64, false}, // scales stand behind all codes
		{reversed, ir.F32, false}, {reversed, ir.W4Full32, false},
	} {
		got, err := inPanels(c.p, c.d, 128)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s %s", c.p.Name, c.d)
	}
}

// GGUF's names are the family's too, and what no family knows has the file's.
func TestNames(t *testing.T) {
	s := openCheckpoint(t, testdata+"gguf/olmoe-tiny-Q4_0.gguf")
	i := slices.IndexFunc(s.Tensors, func(x Tensor) bool { return x.ID == ID{1, 3, "expert.gate.weight"} })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, "w4full32", s.Tensors[i].Type)
	require.NoError(t, s.Unnamed)

	dir := t.TempDir()
	data, err := os.ReadFile(testdata + "olmoe/model.safetensors")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), data, 0o666))
	s = openCheckpoint(t, dir)
	require.ErrorContains(t, s.Unnamed, "config.json")
	require.Nil(t, s.Module)
	require.Equal(t, ID{-1, -1, "lm_head.weight"}, s.Tensors[0].ID)
	require.Len(t, values(t, s.Tensors[0], 50), 160*64)
}

func TestUnknownPacking(t *testing.T) {
	_, err := OpenPackage(packedAs(t, "olmoe", "w8", kernel.Packing), ops(t), nil)
	require.ErrorContains(t, err, `its packing "host" is none that this program knows`)
}

// made is a tensor of given values.
func made(id ID, width int, v ...float32) Tensor {
	shape := []int{len(v) / width, width}
	if len(v) == width {
		shape = []int{width}
	}
	return Tensor{ID: id, Type: "f32", Shape: shape, Open: func() Reader {
		return func(_ context.Context, row int, dst []float32) error {
			copy(dst, v[row*width:])
			return nil
		}
	}}
}

func measured(t testing.TB, o Options, ts ...Tensor) *Report {
	t.Helper()
	r, err := Measure(t.Context(), (&Set{Tensors: ts}).sorted(), o)
	require.NoError(t, err)
	return r
}

func TestStats(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	r := measured(t, Options{}, made(ID{0, -1, "a"}, 4, 1, -3, 0, 2, nan, inf, 0, 4)).Tensors[0]
	require.Equal(t, []any{int64(8), int64(2), int64(2), -3.0, 4.0}, []any{r.Values, r.Odd, r.Zeros, r.Min, r.Max})
	require.InDelta(t, math.Sqrt(30.0/6), r.RMS, 1e-9)
	require.InDelta(t, 4.0/6, r.Mean, 1e-9)
	require.Empty(t, r.Errors)

	// a normal distribution has no excess kurtosis and next to no outliers; a few that are far off change both
	random := rand.New(rand.NewPCG(3, 4))
	v := make([]float32, 128*256)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	r = measured(t, Options{Sample: -1}, made(ID{0, -1, "a"}, 256, v...)).Tensors[0]
	require.InDelta(t, 0, r.Kurtosis, 0.1)
	require.Zero(t, r.Outliers)
	require.Equal(t, r.Values, r.Sampled)
	snr := map[string]float64{}
	for _, l := range r.Errors {
		snr[l.Encoding] = l.SNR()
	}
	require.Len(t, snr, 6)
	require.InDelta(t, 55, snr["bf16"], 3)
	require.InDelta(t, 41, snr["w8"], 3)
	require.InDelta(t, 20, snr["w4g64"], 2)
	require.Greater(t, snr["w4g32"], snr["w4g64"])
	require.Greater(t, snr["w4g64"], snr["w4g128"])
	for i := range 7 {
		v[i*4097] = 20
	}
	r = measured(t, Options{Sample: 1000}, made(ID{0, -1, "a"}, 256, v...)).Tensors[0]
	require.Equal(t, int64(7), r.Outliers)
	require.Greater(t, r.Kurtosis, 5.0)
	require.Equal(t, int64(3*256), r.Sampled)

	require.Equal(t, Stats{ID: ID{0, -1, "z"}, Type: "f32", Shape: []int{2}, Values: 2, Zeros: 2, Sampled: 2, Errors: []Loss{{Encoding: "bf16"}}},
		measured(t, Options{}, made(ID{0, -1, "z"}, 2, 0, 0)).Tensors[0])
}

// Copies are alike, what points elsewhere is not, and zeros are like nothing.
func TestAlike(t *testing.T) {
	r := measured(t, Options{Workers: 2},
		made(ID{3, 0, "x"}, 2, 1, 2, 3, 4), made(ID{3, 1, "x"}, 2, 2, 4, 6, 8), made(ID{3, 2, "x"}, 2, -2, 1, -4, 3), made(ID{3, 3, "x"}, 2, 0, 0, 0, 0),
		made(ID{3, 0, "y"}, 2, 1, 0), made(ID{3, 1, "y"}, 2, 0, 1), made(ID{3, 2, "y"}, 2, 1, 0), made(ID{3, 3, "y"}, 2, 0, 0),
		made(ID{4, 0, "x"}, 2, 1, 2), made(ID{5, -1, "router.weight"}, 2, 1, 2))
	require.Len(t, r.Alike, 1)
	a := r.Alike[0]
	require.Equal(t, 3, a.Layer)
	for i, want := range [][]float64{{1, 0.5, 0.5, 0}, {0.5, 1, 0, 0}, {0.5, 0, 1, 0}, {0, 0, 0, 0}} {
		for j := range want {
			require.InDelta(t, want[j], a.Cosine[i][j], 1e-6, "%d %d", i, j)
		}
	}
	i, j, most, mean := a.Pair()
	require.Equal(t, []int{0, 1}, []int{i, j})
	require.InDelta(t, 0.5, most, 1e-6)
	require.InDelta(t, 1.0/6, mean, 1e-6)
}

// A package that is cut while it is read fails with the tensor and the place.
func TestCut(t *testing.T) {
	dir := packedAs(t, "olmoe", "w8", kernel.Packing)
	a, b := openPackage(t, dir), openPackage(t, dir)
	require.NoError(t, os.Truncate(filepath.Join(dir, "experts.bin"), 0))
	i := slices.IndexFunc(a.Tensors, func(x Tensor) bool { return x.Expert == 1 })
	x := a.Tensors[i]
	want := x.ID.String() + ": at byte "
	_, err := Identical(t.Context(), x, b.Tensors[i])
	require.ErrorContains(t, err, want)
	require.ErrorContains(t, x.Open()(t.Context(), 0, make([]float32, x.Width())), want)
}

// An expert that is not finite is like nothing, not even itself: no mean is NaN.
func TestAlikeOdd(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	r := measured(t, Options{}, made(ID{0, 0, "x"}, 2, 1, nan), made(ID{0, 1, "x"}, 2, 1, 0), made(ID{0, 2, "x"}, 2, inf, 1), made(ID{0, 3, "x"}, 2, 1, 0))
	require.Equal(t, [][]float32{{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 0, 0, 0}, {0, 1, 0, 1}}, r.Alike[0].Cosine)
	_, _, _, mean := r.Alike[0].Pair()
	require.InDelta(t, 1.0/6, mean, 1e-6)
}

// Layers can be chosen, and progress ends at what there is to look at.
func TestMeasure(t *testing.T) {
	s, last := openCheckpoint(t, testdata+"olmoe"), [2]int64{}
	r, err := Measure(t.Context(), s, Options{Layers: []int{1}, Sample: 256, Progress: func(done, total int64) { last = [2]int64{done, total} }})
	require.NoError(t, err)
	require.Equal(t, 33, len(r.Tensors))
	require.Len(t, r.Alike, 1)
	require.Len(t, r.Alike[0].Cosine, 8)
	require.Equal(t, last[1], last[0])
	_, err = Measure(t.Context(), s, Options{Layers: []int{9}})
	require.ErrorContains(t, err, "no weights of layer 9: the last that has some is 2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Measure(ctx, s, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

package export

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// same are graphs of the operators that have their names in ONNX; T is 3, R is 2, U
// is 5.
var same = []string{
	"%1:x = input : f32[T,4]|%2:y = input : f32[T,4]|%3:z = add %1 %2 : f32[T,4]",
	"%1:x = input : f32[T,4]|%2:y = input : f32[4]|%3:z = sub %1 %2 : f32[T,4]",
	"%1:x = input : f32[T,2,4]|%2:y = input : f32[T,2,1]|%3:z = mul %1 %2 : f32[T,2,4]",
	"%1:x = input : f32[T,4]|%2:y = input : f32[T,1]|%3:z = div %1 %2 : f32[T,4]",
	"%1:x = input : f32[T,4]|%2:z = sigmoid %1 : f32[T,4]",
	"%1:x = input : f32[T,4]|%2:z = silu %1 : f32[T,4]",
	"%1:x = input : f32[T,2,4]|%2:z = softmax %1 : f32[T,2,4]",
	"%1:x = input : f32[T,2,4]|%2:y = input : f32[T,2,3]|%3:z = concat %1 %2 %1 : f32[T,2,11]",
	"%1:x = input : f32[T,4]|%2:z = clamp %1 limit=0.75 : f32[T,4]",
	"%1:x = input : f32[T,2,4]|%2:z = sum %1 : f32[T,2,1]",
	"%1:x = input : f32[T,2,4]|%2:y = input : f32[4]|%3:z = rmsnorm %1 %2 eps=0.001 : f32[T,2,4]",
	"%1:x = input : f32[T,4]|%2:y = input : f32[6,4]|%3:z = matmul %1 %2 : f32[T,6]",
	"%1:x = input : f32[T,4]|%2:y = input : i32[T,2]|%3:z = gather %1 %2 : f32[T,2]",
	"%1:x = input : f32[T,4]|%2:y = input : i32[R]|%3:z = gather_rows %1 %2 : f32[R,4]",
	"%1:x = input : f32[U,4]|%2:y = input : i32[T]|%3:z = embed %1 %2 : f32[T,4]",
	"%1:x = input : f32[T,8]|%2:z = reshape %1 dims=T,2,4 : f32[T,2,4]",
	"%1:x = input : f32[T,2,4]|%2:z = slice %1 from=1 to=3 : f32[T,2,2]",
}

// A sameCase is one of them, as another program checks it: browser/onnx_check.py.
type sameCase struct {
	Graph string                `json:"graph"`
	Model string                `json:"model"` // ONNX, in base64
	In    map[string]sameTensor `json:"in"`
	Out   sameTensor            `json:"out"` // what ir/interp returns
}

type sameTensor struct {
	Dims   []int     `json:"dims"`
	Floats []float32 `json:"floats"`
	Ints   []int32   `json:"ints"`
}

// TestSame: the operators that have ONNX's names are in testdata/same.json, with
// what the interpreter makes of them.
func TestSame(t *testing.T) {
	var cases []sameCase
	covered := map[*ir.Op]bool{}
	for _, text := range same {
		m := parse(t, "graph g\n  "+strings.ReplaceAll(text, "|", "\n  ")+"\n  return %"+text[strings.LastIndex(text, ":z")-1:strings.LastIndex(text, ":z")]+"\n")
		g := m.Graphs[0]
		data := written(t, "onnx", m)
		require.NotContains(t, onnxText(t, data), "= estream:", "nodes of %s", text)
		c := sameCase{text, base64.StdEncoding.EncodeToString([]byte(data)), map[string]sameTensor{}, sameTensor{}}
		in := map[string]*interp.Tensor{}
		for i, v := range g.Inputs() {
			in[v.Name] = filled(t, v.Type, i)
			c.In[v.Name] = tensorOf(in[v.Name])
		}
		out, err := interp.Eval(m, g, in, interp.Options{})
		require.NoError(t, err, text)
		c.Out = tensorOf(out[0])
		cases = append(cases, c)
		covered[g.Values[len(g.Values)-1].Op] = true
	}
	for _, op := range ir.CoreOps() {
		require.Equal(t, standard(op) != nil, covered[op], "operator %s has a case", op)
	}
	data, err := json.MarshalIndent(cases, "", " ")
	require.NoError(t, err)
	golden(t, "testdata/same.json", string(data)+"\n")
}

// filled is a tensor of small numbers that differ, or of places below 2.
func filled(t *testing.T, typ ir.Type, seed int) *interp.Tensor {
	bound, err := lower.Dims{"T": 3, "R": 2, "U": 5}.Bind(typ)
	require.NoError(t, err)
	x := interp.New(bound)
	for i := range x.F {
		x.F[i] = float32(math.Round(1000*math.Sin(float64(7*i+3*seed+1)))/500) + 0.125
	}
	for i := range x.I {
		x.I[i] = int32((i + 1) % 2)
	}
	return x
}

func tensorOf(x *interp.Tensor) sameTensor {
	out := sameTensor{Dims: []int{}, Floats: append([]float32{}, x.F...), Ints: append([]int32{}, x.I...)}
	for _, d := range x.Type.Dims {
		out.Dims = append(out.Dims, d.N)
	}
	return out
}

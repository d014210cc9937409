package mixer

import (
	"fmt"
	"math"
	"slices"

	"estream/ir/interp"
)

// Reference computes Op in float64, the way it is defined: the softmax is over all
// experts, those that do not count having a logit of -Inf.
func Reference(c *interp.Call) (*interp.Tensor, error) {
	x, ids, out := c.Args[0], c.Args[1], interp.New(c.Type)
	experts, k := x.Type.Last().N, c.Type.Last().N
	for at, id := range ids.I {
		row, j := at/k, at%k
		if id < 0 || int(id) >= experts {
			return nil, fmt.Errorf("token %d: expert %d is not one of %d", row, id, experts)
		}
		logits := make([]float64, experts)
		for e, v := range x.F[row*experts : (row+1)*experts] {
			logits[e] = float64(v)
		}
		top := logits[id]
		for e, v := range logits {
			far := top-v > 2*c.Value.Attr.(Attr).Jitter*max(math.Abs(v), top)
			if far || slices.Contains(ids.I[row*k:row*k+j], int32(e)) {
				logits[e] = math.Inf(-1)
			}
		}
		sum := 0.0
		for _, v := range logits {
			sum += math.Exp(v - top)
		}
		out.F[at] = float32(1 / sum)
	}
	return out, nil
}

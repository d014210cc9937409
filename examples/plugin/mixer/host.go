package mixer

import (
	"fmt"
	"math"
	"slices"

	"estream/lower"
	"estream/lower/host"
)

// block is how many rows a thread takes at a time: some microseconds of work.
const block = 64

// Host computes Op on the host.
func Host(x *host.Exec) error {
	logits, ids, out := lower.F32(x.In[0].Bytes()), lower.I32(x.In[1].Bytes()), lower.F32(x.Out.Bytes())
	experts, k := x.In[0].Type.Last().N, x.Out.Type.Last().N
	for at, id := range ids {
		if id < 0 || int(id) >= experts {
			return &lower.RowError{Row: at / k, Err: fmt.Errorf("expert %d is not one of %d", id, experts)}
		}
	}
	rows, reach := len(ids)/k, 2*x.Attr.(Attr).Jitter
	x.For((rows+block-1)/block, func(b int) {
		for r := b * block; r < min((b+1)*block, rows); r++ {
			weigh(out[r*k:(r+1)*k], logits[r*experts:(r+1)*experts], ids[r*k:(r+1)*k], reach)
		}
	})
	return nil
}

// weigh computes a row in one pass for each id. A logit that is not finite gives NaN.
func weigh(dst, logits []float32, ids []int32, reach float64) {
	for j, id := range ids {
		top := float64(logits[id])
		sum := math.Exp(top - top)
		for e, v := range logits {
			v := float64(v)
			if int32(e) != id && top-v <= reach*max(math.Abs(v), top) && !slices.Contains(ids[:j], int32(e)) {
				sum += math.Exp(v - top)
			}
		}
		dst[j] = float32(1 / sum)
	}
}

package layout

import (
	"fmt"
	"math"
)

// Place lays payloads of the given sizes one after another in a file, each at a
// multiple of align. It gives their offsets and the length of the file, in
// bytes. A size below one, a sum beyond an int64 and an align that breaks L1 are
// errors.
func Place(align int64, sizes ...int64) (offsets []int64, total int64, err error) {
	if err := checkAlign(align); err != nil {
		return nil, 0, err
	}
	offsets = make([]int64, len(sizes))
	for i, size := range sizes {
		if size < 1 || size > math.MaxInt64-align-total {
			return nil, 0, fmt.Errorf("place: payload %d of %d bytes at %d", i, size, total)
		}
		offsets[i] = total
		total += roundUp(size, align)
	}
	return offsets, total, nil
}

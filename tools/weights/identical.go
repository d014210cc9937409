package weights

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// identicalBlock is how many bytes are compared at a time.
const identicalBlock = 1 << 20

// Identical reports whether two tensors are stored as the very same bytes in the same
// way. Where it is false their values may still be equal.
func Identical(ctx context.Context, a, b Tensor) (bool, error) {
	if len(a.strips) == 0 || len(a.strips) != len(b.strips) {
		return false, nil
	}
	var buf [2][]byte
	for i, s := range a.strips {
		same, err := s.identical(ctx, b.strips[i], &buf)
		if err != nil {
			return false, fmt.Errorf("%s: %w", a.ID, err)
		}
		if !same {
			return false, nil
		}
	}
	return true, nil
}

func (s *strip) identical(ctx context.Context, other *strip, buf *[2][]byte) (bool, error) {
	if s.stored != other.stored {
		return false, nil
	}
	for left := s.size(); left > 0; left -= identicalBlock {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, at := min(left, identicalBlock), s.size()-left
		for i, x := range []*strip{s, other} {
			buf[i] = slices.Grow(buf[i][:0], identicalBlock)[:n]
			if _, err := x.file.ReadAt(buf[i], x.at+at); err != nil {
				return false, fmt.Errorf("at byte %d of its file: %w", x.at+at, err)
			}
		}
		if !bytes.Equal(buf[0], buf[1]) {
			return false, nil
		}
	}
	return true, nil
}

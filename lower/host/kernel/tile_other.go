//go:build !amd64 && !arm64

package kernel

// tileRowsMax is how many rows a tile has at most.
const tileRowsMax = 6

func (s *tileSet) mul(t *tile)    { t.mul() }
func (s *tileSet) sums(t *tile)   { t.sums() }
func (s *tileSet) peak(n int) int { return 0 }

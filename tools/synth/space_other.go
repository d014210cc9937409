//go:build !(linux || darwin)

package synth

import "math"

// freeSpace is not asked here: a full disk is found by writing.
func freeSpace(string) (int64, error) { return math.MaxInt64 / 2, nil }

package kernel

//go:generate go run ./asm

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// A Set is the kernels of one instruction set. Where a field is nil, plain Go
// runs; so the zero Set is plain Go alone. A Set is never changed.
type Set struct {
	name string
	tile *tileSet // products of quantized rows and encodings
	fma  *fmaSet  // products of floats, and attention
	vec  *vecSet  // what goes element by element and row by row
}

// Variable is the environment variable that forces a Set by its name.
const Variable = "ESTREAM_CPU"

// String returns the name of the instruction set: plain, avx2, avx512, neon and the like.
func (s *Set) String() string { return cmp.Or(s.name, "plain") }

// Best returns the first of Sets, or the one that Variable names.
func Best() (*Set, error) { return pick(os.Getenv(Variable)) }

func pick(name string) (*Set, error) {
	var names []string
	for _, s := range Sets() {
		if name == "" || name == s.String() {
			return s, nil
		}
		names = append(names, s.String())
	}
	return nil, fmt.Errorf("%s=%s: this processor has %s", Variable, name, strings.Join(names, ", "))
}

// Pause takes a moment of a thread that waits for another, and leaves the core to
// its other threads meanwhile.
func Pause() { pause() }

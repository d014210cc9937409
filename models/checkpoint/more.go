package checkpoint

import (
	"context"

	"estream/ir"
)

// A Coder is a Checkpoint that holds some tensors in an encoding of estream's own. Their codes and scales can be taken
// over, which rounds nothing.
type Coder interface {
	// Encoding returns the encoding of a tensor, ir.Invalid for any other.
	Encoding(name string) ir.DType
	// ReadCodes is Read for a tensor of an Encoding d, of rows of K values: it gives the codes, and the f16 bits of
	// the scales of their groups, of d.Group(K) codes each.
	ReadCodes(ctx context.Context, name string, row, rows int, codes []int8, scales []uint16) error
}

// A Noter is a Checkpoint with something to tell about what was taken for granted, for the user to read.
type Noter interface {
	Notes() []string
}

// A Speller is a Checkpoint without a config.json, whose Config is made of what has other names.
type Speller interface {
	// Spelling returns what gives the name that errors have for a key of Config, "rope_scaling.factor" one within another.
	Spelling() func(key string) string
}

// A Companion is a Checkpoint that holds what other formats keep in files beside the weights.
type Companion interface {
	// Companion returns the text of a file of that name ("tokenizer.json") and whether there is one. An error says
	// what the user can do.
	Companion(name string) (text []byte, found bool, err error)
}

// CompanionOf returns the text of a file of at most limit bytes that belongs to a checkpoint, and whether there is
// one: c's own, or else a file Beside the weights at path. A file beside them is the remedy for one of its own that
// cannot be given.
func CompanionOf(c Checkpoint, path, name string, limit int64) (text []byte, found bool, err error) {
	own, has := c.(Companion)
	if !has {
		return Beside(path, name, limit)
	}
	if text, found, err = own.Companion(name); err == nil && found {
		return text, true, nil
	}
	if text, found, other := Beside(path, name, limit); found || other != nil {
		return text, found, other
	}
	return nil, false, err
}

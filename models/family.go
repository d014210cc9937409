// Package models defines what a model family is and lowers one into an
// ir.Module; it reads hyperparameters and finds a family's weights in a
// checkpoint under whichever names they have there.
//
// Invariants:
//
//	M1  a setting that changes the computation is obeyed or refused by name, never ignored;
//	M2  a module is built and every weight is resolved before any weight is read;
//	M3  what a stranger's config.json asks for is bounded before anything is allocated for it.
//
// A Family is a value without state. A Config records what was read of it, so
// one goroutine uses it at a time. A Model reads concurrently; it does not own
// the checkpoint, which outlives it.
package models

import (
	"fmt"
	"slices"
	"strings"

	"estream/ir"
)

// A Family is one architecture.
type Family struct {
	Name          string   // its folder under models
	Doc           string   // one line for people: what of config.json it takes, and what it refuses
	Architectures []string // entries of config.json's "architectures" that it serves
	Weights       Weights

	// Layer builds layer l: x and y are f32 [T,H]. state and next are nil for a
	// layer that keeps nothing between steps.
	Layer func(b *ir.Builder, c *Config, l int, x *ir.Value, s ir.Step, state *ir.Value) (y, next *ir.Value)

	// What follows is optional.
	Config  func(c *Config)                                         // reads and checks the family's own keys, declares its extents; runs before anything is built
	Embed   func(b *ir.Builder, c *Config, ids *ir.Value) *ir.Value // ids [T] to f32 [T,H]; nil: rows of embed.weight
	Head    func(b *ir.Builder, c *Config, x *ir.Value) *ir.Value   // x [L,H] to logits f32 [L,V]; nil: final.norm, then head
	State   func(c *Config, l int) ir.Type                          // what layer l keeps, the zero Type for nothing; nil: KV
	Ignored []string                                                // keys of config.json that change nothing in this family (training, generation)
	Partly  []string                                                // keys that some layers or other settings read, and that change nothing in a model without those
}

// KV is the state of attention over keys and values: two parts f32 [S,Hkv,D].
func KV(c *Config) ir.Type {
	part := ir.Tensor(ir.F32, ir.S, ir.N(c.NumKeyValueHeads), ir.N(c.HeadDim))
	return ir.StateOf(ir.Grow, part, part)
}

func (f Family) state(c *Config, l int) ir.Type {
	if f.State == nil {
		return KV(c)
	}
	return f.State(c, l)
}

// Find returns the family that serves an architecture. Two that do are an error.
func Find(families []Family, arch string) (Family, error) {
	var found []Family
	var known []string
	for _, f := range families {
		if slices.Contains(f.Architectures, arch) {
			found = append(found, f)
		}
		for _, a := range f.Architectures {
			known = append(known, fmt.Sprintf("%s (%s)", a, f.Name))
		}
	}
	switch len(found) {
	case 0:
		slices.Sort(known)
		return Family{}, fmt.Errorf("models: unknown architecture %.100q; known: %s; docs/adding-a-family.md tells how to add one", arch, strings.Join(known, ", "))
	case 1:
		return found[0], nil
	}
	return Family{}, fmt.Errorf("models: families %s and %s both serve %q", found[0].Name, found[1].Name, arch)
}

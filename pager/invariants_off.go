//go:build !invariants

package pager

// invariants says whether they are checked after each transition.
const invariants = false

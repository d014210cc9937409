//go:build race

package runtime_test

// raced tells that the race detector is on, which takes ten times as long.
const raced = true

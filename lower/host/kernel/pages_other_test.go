//go:build !linux

package kernel

import "testing"

func pages(_ testing.TB, n int) []byte { return make([]byte, n) }

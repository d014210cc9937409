// Package fb is what flatc makes of manifest.fbs; go generate in the directory
// above makes it again. Its accessors panic on malformed bytes: only package
// layout, which verifies them first, uses it.
package fb

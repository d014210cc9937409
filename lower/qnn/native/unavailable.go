//go:build !(linux && (amd64 || arm64) && (cgo || !android))

package native

import (
	"errors"
	"fmt"
	"runtime"
)

type symbol uintptr

// Available returns why this build cannot call the libraries, nil if it can.
func Available() error {
	remedy := "run on linux or android, amd64 or arm64"
	if runtime.GOOS == "android" {
		remedy = "build with CGO_ENABLED=1 and the compiler of an NDK"
	}
	return fmt.Errorf("this build for %s/%s cannot call QNN's libraries: %s: %w", runtime.GOOS, runtime.GOARCH, remedy, errors.ErrUnsupported)
}

func load(path, _ string) (symbol, error) { return 0, fmt.Errorf("load %s: %w", path, Available()) }

func invoke(symbol, ...uintptr) uint64 { panic("native: call of a library that is not loaded") }

func withOp(symbol) func(uintptr, cOp) uint64 { return nil }

func unbuffer() error { return nil }

func mapFile(int, int64, int) ([]byte, func() error, error) {
	panic("native: memory of a library that is not loaded")
}

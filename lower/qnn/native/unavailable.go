//go:build !(linux && (amd64 || arm64) && (cgo || !android))

package native

import (
	"errors"
	"fmt"
	"runtime"
)

type symbol uintptr

func load(path, _ string) (symbol, error) {
	remedy := "run on linux or android, amd64 or arm64"
	if runtime.GOOS == "android" {
		remedy = "build with CGO_ENABLED=1 and the compiler of an NDK"
	}
	return 0, fmt.Errorf("load %s: this build for %s/%s cannot call QNN's libraries: %s: %w", path, runtime.GOOS, runtime.GOARCH, remedy, errors.ErrUnsupported)
}

func invoke(symbol, ...uintptr) uint64 { panic("native: call of a library that is not loaded") }

func withOp(symbol) func(uintptr, cOp) uint64 { return nil }

func unbuffer() error { return nil }

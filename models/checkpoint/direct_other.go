//go:build !linux

package checkpoint

import "os"

func openDirect(*os.File) *os.File { return nil }

//go:build !unix

package cli

import "io/fs"

// stuck has no sticky folders to know.
func stuck(file, folder fs.FileInfo) bool { return false }

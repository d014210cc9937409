package layout

import (
	"os"
	"path/filepath"
)

// Around returns the folder of the innermost package in which a place lies, or would
// lie once it is made; empty: in none. Links are followed, those that lead to nothing too.
func Around(path string) string {
	at, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for at = real(at); !isManifest(at); at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return ""
		}
	}
	return at
}

func isManifest(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ManifestName))
	return err == nil && info.Mode().IsRegular()
}

// real is where an absolute path leads, as far as there is something.
func real(path string) string {
	const mostLinks = 255 // to nothing, one after the other
	var beyond string
	for links := 0; ; {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(to, beyond)
		}
		dir := filepath.Dir(path)
		if dir == path {
			return filepath.Join(path, beyond)
		}
		to, err := os.Readlink(path)
		if links++; err != nil || links > mostLinks {
			path, beyond = dir, filepath.Join(filepath.Base(path), beyond)
			continue
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(real(dir), to)
		}
		path = to
	}
}

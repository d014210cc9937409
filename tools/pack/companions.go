package pack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"estream/pager/layout"
)

// Companions are the files of a checkpoint that a package keeps beside the
// weights, where they are there.
var Companions = []string{"tokenizer.json", "tokenizer_config.json"}

// companionsOf returns the paths of those that lie beside the weights at path.
func companionsOf(path string) ([]string, error) {
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		path = filepath.Dir(path)
	}
	var out []string
	for _, name := range Companions {
		p := filepath.Join(path, name)
		_, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func companion(w *layout.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return w.Companion(filepath.Base(path), f)
}

// besideBytes is about what companions, manifest and journal take.
func (j *job) besideBytes() (int64, error) {
	n := int64(64<<10 + len(j.man.Module) + len(j.man.Config) + 512*(len(j.man.Experts)+len(j.man.Dense)+len(j.tasks)))
	for _, path := range j.companions {
		st, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		n += st.Size()
	}
	return n, nil
}

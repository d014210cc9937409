package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"estream/models/checkpoint"
)

// errChanged is a source that was written anew while a conversion read it: what
// was made may be partly of the one and partly of the other.
var errChanged = errors.New("changed while it was read: run again with --restart")

// A source is something that a conversion reads, and what it looked like before.
type source struct {
	name string
	was  string
	look func() (string, error)
}

// watch notes what a source looks like.
func (j *job) watch(name string, look func() (string, error)) error {
	was, err := look()
	j.sources = append(j.sources, source{name, was, look})
	return err
}

// watchFile notes the size and time of a file.
func (j *job) watchFile(path string) error {
	return j.watch(path, func() (string, error) {
		st, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%q %d %d", filepath.Base(path), st.Size(), st.ModTime().UnixNano()), nil
	})
}

// watchCheckpoint notes its weight files and what config.json says.
func (j *job) watchCheckpoint(c checkpoint.Checkpoint, path string) error {
	for _, f := range c.Files() {
		j.report.Read += f.Size
		if err := j.watchFile(f.Path); err != nil {
			return err
		}
	}
	return j.watch(path+": config.json", func() (string, error) {
		config, err := c.Config()
		return digest(string(config)), err
	})
}

// unchanged fails where a source is not what it was, or gone.
func (j *job) unchanged() error {
	for _, s := range j.sources {
		if now, err := s.look(); err != nil || now != s.was {
			return fmt.Errorf("%s %w", s.name, errChanged)
		}
	}
	return nil
}

// why is what made a conversion fail: a source that changed, if one did.
func (j *job) why(ctx context.Context, err error) error {
	if changed := j.unchanged(); changed != nil && ctx.Err() == nil {
		return changed
	}
	return err
}

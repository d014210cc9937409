package cli

import (
	"context"

	"estream/tools/trace"
)

// A timeline is the file of a --trace flag. It is kept also where the run failed or
// was interrupted, and left out where nothing ran.
type timeline struct {
	out *output
	w   *trace.Writer
}

// newTimeline begins the file; nil where path is empty. It may be none of what is read.
func newTimeline(ctx context.Context, path string, read ...string) (*timeline, error) {
	out, err := newOutput(ctx, "trace", path, read...)
	if out == nil || err != nil {
		return nil, err
	}
	return &timeline{out, trace.NewWriter(out)}, nil
}

// writer is what takes events, nil where there is no file.
func (t *timeline) writer() *trace.Writer {
	if t == nil {
		return nil
	}
	return t.w
}

// close ends the file and puts it in its place.
func (t *timeline) close() error {
	if t == nil {
		return nil
	}
	defer t.out.discard()
	if t.w.Empty() {
		return nil
	}
	if err := t.w.Close(); err != nil {
		return err
	}
	return t.out.finish()
}

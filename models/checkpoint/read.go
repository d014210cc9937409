package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
)

func (s *safeTensors) Read(ctx context.Context, name string, row, rows int, dst []float32) error {
	p, ok := s.at[name]
	if !ok {
		return fmt.Errorf("checkpoint %s: no tensor %.80q", s.home.path, name)
	}
	err := s.read(ctx, p, row, rows, dst)
	if x, scaled := s.scales[name]; scaled && err == nil {
		first, _ := Span(p.Shape, row, rows, len(dst))
		err = s.scale(ctx, x, first, dst)
	}
	if err != nil {
		return fmt.Errorf("%s: tensor %.80q: %w", p.shard.Path, name, err)
	}
	return nil
}

func (s *safeTensors) read(ctx context.Context, p place, row, rows int, dst []float32) error {
	t := dtypes[p.DType]
	if t.decode == nil {
		return fmt.Errorf("%s does not decode to float32", p.DType)
	}
	first, err := Span(p.Shape, row, rows, len(dst))
	if err != nil {
		return err
	}
	buf := s.buffers.Get().(*Buffer)
	defer s.buffers.Put(buf)
	width := int64(t.bits)
	most := (MostRange - 1) * 8 / t.bits &^ 7 // a multiple of 8: each read begins at the same bit of a byte
	for at := first * width; len(dst) > 0; {
		n := min(len(dst), most)
		bit := int(at % 8)
		raw, err := p.shard.Range(ctx, buf, p.begin+at/8, (bit+n*t.bits+7)/8)
		if err != nil {
			return err
		}
		t.decode(dst[:n], raw, bit)
		dst = dst[n:]
		at += int64(n) * width
	}
	return nil
}

// Span checks a range of rows against shape and the room for it, and returns its first element.
func Span(shape []int, row, rows, room int) (first int64, err error) {
	dims := shape
	if len(dims) == 0 {
		dims = []int{1}
	}
	if row < 0 || rows < 0 || rows > dims[0]-row {
		return 0, fmt.Errorf("rows [%d,%d+%d) of %d", row, row, rows, dims[0])
	}
	inner, _ := elements(dims[1:])
	if int64(rows)*inner != int64(room) {
		return 0, fmt.Errorf("%d rows of %d elements do not fit %d", rows, inner, room)
	}
	return int64(row) * inner, nil
}

// ReadAt fills p from r; a Read that finds the end there was cut since it was opened.
func ReadAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d of %d bytes at %d: %w", n, len(p), off, err)
}

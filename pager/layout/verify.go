package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"estream/pager/crc32c"
)

// maxDamage bounds the errors that one Verify collects.
const maxDamage = 20

// readSize is how much of a file is read or written at a time.
const readSize = 1 << 20

// Verify reads the whole package again and compares every checksum. progress,
// if there is one, is told of bytes done and in all, from the calling
// goroutine. The error joins one error for each damaged thing, naming file,
// thing and offset, up to twenty: an [*Error], or what a read returned. When ctx
// ends, its error is returned instead.
func Verify(ctx context.Context, p *Package, progress func(done, total int64)) error {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return fmt.Errorf("package: %w", err)
	}
	defer root.Close()
	r := &rereader{buf: make([]byte, readSize), progress: progress}
	var files [][]section
	for _, f := range p.Manifest.Files {
		sections := p.Manifest.sections(f)
		for _, s := range sections {
			r.total += s.length
		}
		files = append(files, sections)
	}
	remedy := "copy it again, or compile it anew with estream prepare"
	for i, f := range p.Manifest.Files {
		before := len(r.damage)
		r.file(ctx, root, f, files[i])
		if len(r.damage) > before && !p.Manifest.compiled(f.Name) {
			remedy = "copy or pack it again"
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("verify %s: %w", p.Dir, err)
	}
	if err := errors.Join(r.damage...); err != nil {
		return fmt.Errorf("package %s is damaged; %s:\n%w", p.Dir, remedy, err)
	}
	return nil
}

// A section is a range of a file with a checksum.
type section struct {
	thing          string // empty for the file itself
	offset, length int64
	crc            uint32
}

// sections lists what in f has a checksum.
func (m *Manifest) sections(f FileSum) []section {
	var out []section
	switch f.Name {
	case ExpertsName:
		for _, r := range m.Experts {
			out = append(out, section{expertName(r), r.Offset, r.Length, r.CRC})
		}
	case DenseName:
		for _, r := range m.Dense {
			out = append(out, section{denseName(r), r.Offset, r.Length, r.CRC})
		}
		for _, r := range m.Rows {
			for i, crc := range r.Blocks {
				offset, length := r.Block(i)
				out = append(out, section{fmt.Sprintf("%s block %d", rowsName(r), i), offset, length, crc})
			}
		}
	default:
		out = append(out, section{"", 0, f.Size, f.CRC})
		for i, a := range m.Artifacts {
			if a.File == f.Name {
				out = append(out, section{artifactName(i, a), a.Offset, a.Length, a.CRC})
			}
		}
	}
	return out
}

type rereader struct {
	buf         []byte
	progress    func(done, total int64)
	done, total int64
	damage      []error
}

// file re-reads sections of one file until ctx ends or the damage is enough. Where a
// companion is damaged, what lies in it is no news.
func (r *rereader) file(ctx context.Context, root *os.Root, sum FileSum, sections []section) {
	if len(r.damage) == maxDamage || ctx.Err() != nil {
		return
	}
	f, _, err := openRegular(root, sum.Name)
	if err == nil {
		defer f.Close()
		if len(sections) > 0 && sections[0].thing == "" {
			err = checkOnDisk(root, sum)
		}
	}
	if err != nil {
		r.damage = append(r.damage, err)
		return
	}
	for _, s := range sections {
		err := r.section(ctx, f, sum.Name, s)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			continue
		}
		if r.damage = append(r.damage, err); len(r.damage) == maxDamage || s.thing == "" {
			return
		}
	}
}

// section compares one checksum.
func (r *rereader) section(ctx context.Context, f io.ReaderAt, name string, s section) error {
	got, err := r.sum(ctx, f, s)
	switch {
	case err != nil && s.thing == "":
		return fmt.Errorf("%s at offset %d: %w", name, s.offset, err)
	case err != nil:
		return fmt.Errorf("%s: %s at offset %d: %w", name, s.thing, s.offset, err)
	case got != s.crc:
		return &Error{name, s.thing, fmt.Sprintf("checksum of %d bytes at offset %d is %08x, not %08x", s.length, s.offset, got, s.crc)}
	}
	return nil
}

// sum is the checksum of a section as it is on flash.
func (r *rereader) sum(ctx context.Context, f io.ReaderAt, s section) (uint32, error) {
	var crc uint32
	for at, end := s.offset, s.offset+s.length; at < end; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		chunk := r.buf[:min(end-at, readSize)]
		if n, err := f.ReadAt(chunk, at); n < len(chunk) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		crc = crc32c.Update(crc, chunk)
		at += int64(len(chunk))
		r.done += int64(len(chunk))
		if r.progress != nil {
			r.progress(r.done, r.total)
		}
	}
	return crc, nil
}

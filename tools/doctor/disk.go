package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"estream/pager"
	"estream/pager/layout"
)

// disk writes a small file into a folder and reads it as packages are read.
func (r *Report) disk(ctx context.Context, dir string) {
	const area = "disk"
	if free, err := layout.FreeSpace(dir); err != nil {
		r.add(area, "free", Wrong, err.Error(), "name the folder for packages with --folder")
		return
	} else if free < math.MaxInt64 {
		r.add(area, "free", OK, size(free)+" in "+dir, "")
	}
	align, note, err := direct(ctx, dir)
	switch {
	case errors.Is(err, os.ErrPermission):
		r.add(area, "direct reads", Note, "not tried: nothing may be written to "+dir, "")
	case err != nil:
		r.add(area, "direct reads", Wrong, err.Error(), "name another folder with --folder")
	case note != "":
		r.add(area, "direct reads", Note, "refused by the file system of "+dir+": reads go through the page cache, and are slower; keep packages on ext4, xfs, btrfs or f2fs", "")
	default:
		r.add(area, "direct reads", OK, fmt.Sprintf("at multiples of %d B in %s", align, dir), "")
	}
}

// direct returns at which alignment a file is read past the page cache, or a note
// why it is not.
func direct(ctx context.Context, dir string) (align int64, note string, err error) {
	f, err := os.CreateTemp(dir, ".estream-doctor-")
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(make([]byte, 1<<18))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, "", err
	}
	s, err := pager.OpenFile(f.Name())
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	mem, free, err := pager.Pages(1 << 16)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, free()) }()
	err = s.ReadAt(ctx, mem, 1<<16)
	return s.Align(), pager.Note(s), err
}

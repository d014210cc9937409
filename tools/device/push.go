package device

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Pushed is what a Push has done.
type Pushed struct {
	Files int   `json:"files"` // that were copied
	Bytes int64 `json:"bytes"`
	Kept  int   `json:"kept"` // that were there
}

// spare is space that is left free on a device.
const spare = 32 << 20

// Push copies files into a folder of the device, but those that are there. Progress
// is told how much of what has to be copied is.
func (d *Device) Push(ctx context.Context, folder string, files []File, progress func(done, total int64)) (Pushed, error) {
	var done Pushed
	missing, err := d.missing(ctx, folder, files)
	if err != nil {
		return done, err
	}
	done.Kept = len(files) - len(missing)
	total := int64(0)
	for _, f := range missing {
		total += f.Size
	}
	if err := d.space(ctx, folder, total); err != nil {
		return done, err
	}
	for _, f := range missing {
		progress(done.Bytes, total)
		if err := d.push(ctx, folder, f, func(n int64) { progress(done.Bytes+n, total) }); err != nil {
			return done, fmt.Errorf("push %s: %w", f.Local, err)
		}
		done.Files, done.Bytes = done.Files+1, done.Bytes+f.Size
		progress(done.Bytes, total)
	}
	return done, nil
}

// missing returns the files that the folder lacks, or has otherwise.
func (d *Device) missing(ctx context.Context, folder string, files []File) (out []File, err error) {
	sizes, err := d.sizes(ctx, folder, files)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		if sizes[i] != f.Size {
			out = append(out, f)
			continue
		}
		same, err := d.same(ctx, f, path.Join(folder, f.Remote))
		if err != nil {
			return nil, err
		}
		if !same {
			out = append(out, f)
		}
	}
	return out, nil
}

// sizes returns the length of each file on the device, -1 where it is not there.
func (d *Device) sizes(ctx context.Context, folder string, files []File) ([]int64, error) {
	var script strings.Builder
	for _, f := range files {
		fmt.Fprintf(&script, "stat -c %%s %s 2>/dev/null || echo -1\n", quote(path.Join(folder, f.Remote)))
	}
	out, err := d.Shell(ctx, script.String())
	if err != nil {
		return nil, err
	}
	said := strings.Fields(out)
	if len(said) != len(files) {
		return nil, fmt.Errorf("asked the device for the sizes of %d files, it says %q", len(files), out)
	}
	sizes := make([]int64, len(said))
	for i := range said {
		if sizes[i], err = strconv.ParseInt(said[i], 10, 64); err != nil {
			return nil, fmt.Errorf("size of %s on the device: %w", files[i].Remote, err)
		}
	}
	return sizes, nil
}

// same compares the checksum of a file with that of one on the device.
func (d *Device) same(ctx context.Context, f File, remote string) (bool, error) {
	out, err := d.Shell(ctx, "sha256sum <"+quote(remote))
	if err != nil {
		return false, fmt.Errorf("checksum of %s on the device: %w", remote, err)
	}
	sum, _, _ := strings.Cut(strings.TrimSpace(out), " ")
	own, err := checksum(ctx, f.Local)
	return sum == own, err
}

func checksum(ctx context.Context, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	for err == nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		_, err = io.CopyN(h, f, 16<<20)
	}
	if err != io.EOF {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// space refuses more bytes than there is space for.
func (d *Device) space(ctx context.Context, folder string, need int64) error {
	out, err := d.Shell(ctx, fmt.Sprintf("mkdir -p %[1]s && df -kP %[1]s", quote(folder)))
	if err != nil {
		return fmt.Errorf("free space of %s: %w", folder, err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	if len(fields) < 5 {
		return fmt.Errorf("free space of %s: the device says %q", folder, out)
	}
	kb, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return fmt.Errorf("free space of %s: the device says %q", folder, out)
	}
	if free := kb << 10; need > 0 && need+spare > free {
		return fmt.Errorf("%s has %d MiB free, and %d MiB are to be pushed: free space on the device, or choose another folder with --to", folder, free>>20, (need+spare)>>20)
	}
	return nil
}

// push copies one file, and gives it its name when it is right.
func (d *Device) push(ctx context.Context, folder string, f File, progress func(int64)) error {
	remote := path.Join(folder, f.Remote)
	partial := remote + ".partial"
	if _, err := d.Shell(ctx, fmt.Sprintf("mkdir -p %s && rm -f %s", quote(path.Dir(remote)), quote(partial))); err != nil {
		return err
	}
	stop := d.watch(ctx, partial, progress)
	_, err := d.adb.output(ctx, "-s", d.Serial, "push", f.Local, partial)
	stop()
	if err != nil {
		return err
	}
	same, err := d.same(ctx, f, partial)
	if err == nil && !same {
		err = errors.New("it arrived damaged: repeat the command, with another cable if it stays so")
	}
	if err != nil {
		return err
	}
	mode := "644"
	if f.Run {
		mode = "755"
	}
	_, err = d.Shell(ctx, fmt.Sprintf("chmod %s %[2]s && mv -f %[2]s %[3]s", mode, quote(partial), quote(remote)))
	return err
}

// often is how often a device is asked how much of a file it has.
const often = time.Second

// watch tells how long a file on the device is, until the function that it returns
// has returned.
func (d *Device) watch(ctx context.Context, remote string, progress func(int64)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	var most atomic.Int64
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(often):
			}
			out, err := d.Shell(ctx, "stat -c %s "+quote(remote))
			n, bad := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
			if err == nil && bad == nil && n > most.Load() { // else it is not there yet
				most.Store(n)
				progress(n)
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// Pull copies a file from the device, which gets its name here when it is whole.
func (d *Device) Pull(ctx context.Context, remote, local string) (err error) {
	partial := local + ".partial"
	defer func() {
		if err != nil {
			os.Remove(partial) // it may not be there
		}
	}()
	if _, err := d.adb.output(ctx, "-s", d.Serial, "pull", remote, partial); err != nil {
		return err
	}
	same, err := d.same(ctx, File{Local: partial}, remote)
	if err == nil && !same {
		err = fmt.Errorf("pull %s: it arrived damaged: repeat the command", remote)
	}
	if err != nil {
		return err
	}
	return os.Rename(partial, local)
}

// Package prepare compiles the graphs of a package ahead of time and keeps them in
// it, for devices that are not there: a run loads what fits its device instead of
// compiling.
//
// Invariants:
//
//	R1 weights and other companions are not touched: what is compiled binds weights at each run
//	R2 the package is at each moment as it was or as it will be: files have names of their own, and the manifest is replaced at once
//	R3 a backend keeps one program for each architecture
//	R4 the manifest is read and replaced under the folder's lock: what another keeps meanwhile stays
//	R5 a package that cannot be written to is refused before anything is compiled: its manifest is replaced by itself first
//
// Commands in errors are to be typed with the package's folder for PACKAGE.
package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/runtime"
)

// A Backend compiles for one architecture.
type Backend interface {
	runtime.Device

	// ArtifactTarget says for what and by which SDK.
	ArtifactTarget() (arch, sdk string, err error)
}

// Options say how a package is prepared.
type Options struct {
	Host lower.Backend // takes the graphs that a backend refuses
	Ops  ir.Ops        // that packages may use

	// Waits is told that another process, or goroutine, has the lock of the folder, on
	// which Run waits; nil: nobody is.
	Waits func(folder string)
}

// Run compiles the graphs of the package dir for each backend and keeps them in
// it, in place of what was compiled for the same architectures. It returns what
// was made. If one fails the package stays as it was.
func Run(ctx context.Context, dir string, backends []Backend, o Options) ([]layout.Artifact, error) {
	pkg, err := layout.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := update(ctx, pkg, nil, nil, o.Waits); err != nil { // R5
		return nil, fmt.Errorf("package %s: %w", dir, err)
	}
	var made []layout.Artifact
	var files []file
	for _, b := range backends {
		a, f, err := compile(ctx, pkg.Manifest, b, o)
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", dir, err)
		}
		if slices.ContainsFunc(made, a.of) {
			return nil, fmt.Errorf("package %s: %s is asked for twice", dir, a.Arch)
		}
		made, files = append(made, a.Artifact), append(files, f)
	}
	if err := update(ctx, pkg, made, files, o.Waits); err != nil {
		return nil, fmt.Errorf("package %s: %w", dir, err)
	}
	return made, nil
}

// An artifact is what became of a backend.
type artifact struct{ layout.Artifact }

// of reports whether another stands where a does.
func (a artifact) of(b layout.Artifact) bool { return a.Backend == b.Backend && a.Arch == b.Arch }

func compile(ctx context.Context, man *layout.Manifest, b Backend, o Options) (a artifact, f file, err error) {
	p, err := packingOf(man, b)
	if err != nil {
		return a, f, err
	}
	a.Artifact = layout.Artifact{Backend: b.Name(), Name: runtime.ProgramsName(b.Target(o.Host).Tiers)}
	if a.Arch, a.SDK, err = b.ArtifactTarget(); err != nil {
		return a, f, err
	}
	data, err := bytesOf(ctx, man, b, p, o)
	if err != nil {
		return a, f, fmt.Errorf("%s for %s: %w", b.Name(), a.Arch, err)
	}
	a.Length, a.CRC = int64(len(data)), crc32c.Checksum(data)
	a.File = fmt.Sprintf("%s.%s.%08x.bin", a.Backend, a.Arch, a.CRC)
	return a, file{layout.FileSum{Name: a.File, Size: a.Length, CRC: a.CRC}, data}, nil
}

// bytesOf compiles the module as a run does.
func bytesOf(ctx context.Context, man *layout.Manifest, b Backend, p lower.Packing, o Options) ([]byte, error) {
	m, err := legalized(man, b, o)
	if err != nil {
		return nil, err
	}
	c, err := b.Compile(ctx, m, p)
	if err != nil {
		return nil, err
	}
	data, err := c.Artifact()
	if err == nil && len(data) == 0 {
		err = errors.New("it keeps nothing of what it compiles")
	}
	return data, errors.Join(err, c.Close())
}

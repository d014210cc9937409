package device

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"estream/lower/qnn/find"
)

// A File is one to be pushed.
type File struct {
	Local  string
	Remote string // below the device's folder
	Size   int64
	Run    bool // it is a program
}

// A Load is what is pushed together.
type Load struct {
	Program   string // estream for the device, "" for none
	Package   string // a folder, "" for none
	Libraries string // a folder of QNN's libraries, "" for none
}

// Files lists what is pushed to a device: of the libraries, those that its system
// loads and the stub and skel of its chip.
func (l Load) Files(f *Facts) (out []File, err error) {
	if l.Program != "" {
		if err := checkProgram(l.Program, f); err != nil {
			return nil, err
		}
		out = append(out, File{Local: l.Program, Remote: "estream", Run: true})
	}
	libraries, err := l.libraries(f)
	if err != nil {
		return nil, err
	}
	for _, lib := range libraries {
		out = append(out, File{Local: lib.Path, Remote: "lib/" + filepath.Base(lib.Path)})
	}
	if l.Package != "" {
		entries, err := os.ReadDir(l.Package)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			out = append(out, File{Local: filepath.Join(l.Package, e.Name()), Remote: path.Join(RemotePackage(l.Package), e.Name())})
		}
	}
	for i := range out {
		st, err := os.Stat(out[i].Local)
		if err != nil {
			return nil, err
		}
		if !st.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: not a regular file", out[i].Local)
		}
		out[i].Size = st.Size()
	}
	return out, nil
}

// RemotePackage is where a package lies below the device's folder.
func RemotePackage(local string) string {
	if abs, err := filepath.Abs(local); err == nil {
		local = abs
	}
	return path.Join("packages", filepath.Base(local))
}

func (l Load) libraries(f *Facts) ([]find.Library, error) {
	if l.Libraries == "" {
		return nil, nil
	}
	s := f.System()
	set, err := s.Search(l.Libraries)
	if err != nil {
		return nil, err
	}
	arch := f.SoC.Arch // 0: not known, and all are pushed
	needed := slices.DeleteFunc(set.Libraries, func(x find.Library) bool { return x.Kind != find.Backend && arch != 0 && x.Arch != arch })
	for _, x := range needed {
		if err := x.Misfit(s); err != nil {
			return nil, err
		}
	}
	if arch == 0 {
		return needed, nil
	}
	for _, k := range []find.Kind{find.Stub, find.Skel} {
		if !slices.ContainsFunc(needed, func(x find.Library) bool { return x.Kind == k }) {
			return nil, fmt.Errorf("%s has no %s for %s: take libQnnHtpV%d%s%s.so from an SDK that knows the chip", set.Path, k, f.SoC, arch, strings.ToUpper(string(k[:1])), k[1:])
		}
	}
	return needed, nil
}

// checkProgram refuses a program that a device cannot start.
func checkProgram(file string, f *Facts) error {
	const build = "build one with CGO_ENABLED=0 GOOS=%s GOARCH=%s go build -o estream-device ./tools/estream"
	remedy := fmt.Sprintf(build, f.OS, f.System().Arch)
	e, err := elf.Open(file)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %s", err, remedy)
		}
		return fmt.Errorf("%s is no program for a device: %s: %w", file, remedy, err)
	}
	defer e.Close()
	want := map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64}[f.System().Arch]
	if e.Machine != want {
		return fmt.Errorf("%s is for %v, the device is %s: %s", file, e.Machine, f.Machine, remedy)
	}
	loader := interp(e)
	android := strings.HasPrefix(loader, "/system/") || strings.HasPrefix(loader, "/apex/")
	if loader != "" && android != (f.OS == "android") {
		return fmt.Errorf("%s is started by %s, which a device with %s does not have: %s", file, loader, f.OS, remedy)
	}
	return nil
}

// interp is the loader that a program asks for, "" if it is static.
func interp(e *elf.File) string {
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			text, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
			if err == nil {
				return cmp.Or(strings.TrimRight(string(text), "\x00"), "?")
			}
		}
	}
	return ""
}

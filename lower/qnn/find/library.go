package find

import (
	"cmp"
	"debug/elf"
	"debug/pe"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Kind says what a library is for.
type Kind string

// The kinds of libraries.
const (
	Backend Kind = "backend" // or one beside the backends: system, ir, saver, prepare
	Stub    Kind = "stub"    // runs on the processor, calls the skel
	Skel    Kind = "skel"    // runs on the HTP
)

// A Library is a file of QNN's.
type Library struct {
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // lower case: htp, cpu, gpu, system, ir, saver, prepare
	Arch int    `json:"arch"` // generation of HTP that a stub or skel is for: 79 is v79; else 0
	file string // where it can be opened
}

var libraryName = regexp.MustCompile(`^(?:lib)?Qnn(Cpu|Gpu|Ir|Saver|System|Htp|HtpPrepare|HtpV(\d\d)(Stub|Skel))\.(?:so|dll)$|^(?:lib)?(HtpPrepare)\.(?:so|dll)$`)

// Libraries lists QNN's libraries in a folder by name, and with them the skels
// that an SDK has elsewhere.
func (s System) Libraries(dir string) ([]Library, error) {
	out, err := s.list(dir)
	if err != nil {
		return nil, err
	}
	if len(out) > 0 {
		unsigned, _ := filepath.Glob(s.at(filepath.Join(filepath.Dir(dir), "hexagon-v*", "unsigned"))) // fails for a bad pattern only
		for _, u := range unsigned {
			path := filepath.Join(filepath.Dir(dir), filepath.Base(filepath.Dir(u)), "unsigned")
			skels, err := s.list(path)
			if err != nil {
				return nil, err
			}
			out = append(out, slices.DeleteFunc(skels, func(l Library) bool { return l.Kind != Skel })...)
		}
	}
	slices.SortStableFunc(out, func(a, b Library) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Arch, b.Arch))
	})
	return out, nil
}

func (s System) list(dir string) (out []Library, err error) {
	entries, err := os.ReadDir(s.at(dir))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		m := libraryName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		l := Library{Path: filepath.Join(dir, e.Name()), file: s.at(filepath.Join(dir, e.Name())), Kind: Backend}
		switch {
		case m[2] != "":
			l.Name, l.Kind = "htp", Kind(strings.ToLower(m[3]))
			l.Arch, _ = strconv.Atoi(m[2]) // two digits
		default:
			l.Name = strings.TrimPrefix(strings.ToLower(m[1]+m[4]), "htp")
			l.Name = cmp.Or(l.Name, "htp")
		}
		out = append(out, l)
	}
	return out, nil
}

// Build reads which version of QAIRT the library is of, the zero Build if the file
// does not say.
func (l Library) Build() (Build, error) { return buildOf(l.file) }

// Misfit says why a library cannot be used on a system; nil if it can, as far as
// its file tells.
func (l Library) Misfit(s System) error {
	want := s.OS + "/" + s.Arch
	if l.Kind == Skel {
		want = "hexagon"
	}
	f, err := os.Open(l.file)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := madeFor(f)
	if err != nil {
		return fmt.Errorf("%s: %w: copy it again", l.Path, err)
	}
	if got != want {
		return fmt.Errorf("%s is for %s, and this is %s: take the library of the same name from another folder of the SDK", l.Path, got, want)
	}
	return nil
}

// madeFor returns the system and processor that a library is for, as Go names
// them, or hexagon.
func madeFor(f io.ReaderAt) (string, error) {
	if p, err := pe.NewFile(f); err == nil {
		arch := map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}[p.Machine]
		return "windows/" + cmp.Or(arch, "another processor"), nil
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return "", fmt.Errorf("no library: %w", err)
	}
	const hexagon = elf.Machine(164)
	switch e.Machine {
	case hexagon:
		return "hexagon", nil
	case elf.EM_X86_64:
		return system(e) + "/amd64", nil
	case elf.EM_AARCH64:
		return system(e) + "/arm64", nil
	}
	return system(e) + "/another processor", nil
}

// system tells Android's C library from the GNU one.
func system(e *elf.File) string {
	needed, err := e.ImportedLibraries()
	if err == nil && slices.Contains(needed, "libc.so") {
		return "android"
	}
	return "linux"
}

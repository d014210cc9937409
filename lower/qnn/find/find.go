// Package find says where QNN's libraries and the processor that they drive are:
// which folder of libraries is taken, what is in it, which chip this is, and
// whether a context binary fits it. It opens no library: files are looked at.
//
// Everything is asked of a System, whose files may stand under another root.
package find

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A System is the computer that is asked. Its methods only read.
type System struct {
	Root     string                   // the folder that stands for /, "" for / itself
	OS, Arch string                   // as Go names them
	Env      func(name string) string // variables of the environment
	Cache    string                   // the user's folder of caches, "" if there is none
	Program  string                   // the folder that this program is in, "" if unknown
	Property func(name string) string // of Android; "" if it is not set

	Read func(path string) ([]byte, error) // a small file; nil: one under Root
}

// Here is the computer that this program runs on.
func Here() System {
	s := System{OS: runtime.GOOS, Arch: runtime.GOARCH, Env: os.Getenv, Property: func(string) string { return "" }}
	s.Cache, _ = os.UserCacheDir() // without one there is nothing in it
	if exe, err := os.Executable(); err == nil {
		s.Program = filepath.Dir(exe)
	}
	if s.OS == "android" {
		s.Property = property
	}
	return s
}

// property asks Android for one of its properties.
func property(name string) string {
	out, err := exec.Command("getprop", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// at is where a path of the system is.
func (s System) at(path string) string {
	if s.Root == "" {
		return path
	}
	return filepath.Join(s.Root, strings.TrimPrefix(filepath.ToSlash(path), "C:"))
}

// Variable is the environment variable that names the folder of libraries.
const Variable = "ESTREAM_QNN_LIBS"

// A Folder is a place where libraries are looked for.
type Folder struct {
	Path string `json:"path"`
	Why  string `json:"why"` // it is looked at, such as the name of a variable
}

// A Set is the libraries of one folder, which are used together.
type Set struct {
	Folder
	Libraries []Library // by name
	Tried     []Folder  // before this one, which have none
}

// Backend returns the library of a backend by its name, such as htp or cpu.
func (s *Set) Backend(name string) (Library, bool) { return s.find(Backend, name, 0) }

// Stub returns the library through which the processor's calls go to an HTP of a generation.
func (s *Set) Stub(arch int) (Library, bool) { return s.find(Stub, "htp", arch) }

// Skel returns the library that an HTP of a generation loads.
func (s *Set) Skel(arch int) (Library, bool) { return s.find(Skel, "htp", arch) }

func (s *Set) find(k Kind, name string, arch int) (Library, bool) {
	i := slices.IndexFunc(s.Libraries, func(l Library) bool { return l.Kind == k && l.Name == name && l.Arch == arch })
	if i < 0 {
		return Library{}, false
	}
	return s.Libraries[i], true
}

// Archs lists the generations of HTP that a Set has libraries of a kind for.
func (s *Set) Archs(k Kind) (archs []int) {
	for _, l := range s.Libraries {
		if l.Kind == k {
			archs = append(archs, l.Arch)
		}
	}
	slices.Sort(archs)
	return slices.Compact(archs)
}

// FileName is what the system calls the file of a library, such as QnnHtp.
func (s System) FileName(base string) string {
	if s.OS == "windows" {
		return base + ".dll"
	}
	return "lib" + base + ".so"
}

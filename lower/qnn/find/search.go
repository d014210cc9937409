package find

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Search returns the libraries that are to be used: those of the folder that the
// caller names, of the one that Variable names, or of the first folder of the
// user's caches, the vendor's SDK and the system that has some. A folder that is
// named is the only one that counts. Where there are none the error wraps
// fs.ErrNotExist and lists what was tried.
func (s System) Search(named string) (*Set, error) { return s.SearchFor(named, "") }

// SearchFor is Search for the library of one backend, such as htp or cpu: folders
// without it are passed over, and the error tells which those are.
func (s System) SearchFor(named, backend string) (*Set, error) {
	var tried, lacking []Folder
	for _, f := range s.Folders(named) {
		libraries, err := s.Libraries(f.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s, from %s: %w", f.Path, f.Why, err)
		}
		if slices.ContainsFunc(libraries, func(l Library) bool { return l.Kind == Backend && l.Misfit(s) == nil }) {
			set := &Set{f, libraries, tried}
			if _, ok := set.Backend(backend); ok || backend == "" {
				return set, nil
			}
			lacking = append(lacking, f)
		}
		tried = append(tried, f)
	}
	if len(lacking) > 0 {
		return nil, s.lack(named, backend, tried, lacking)
	}
	return nil, s.none(named, tried)
}

// An Absent is that there are no libraries, or not the one that was looked for. It
// is an fs.ErrNotExist.
type Absent struct {
	Library string // the file that folders lack, "" if there is no library at all
	Named   string // the folder that was named, "" if none was
	Tried   []Folder
	Lacking []Folder // of Tried, those with other libraries
	Remedy  string
}

func (a *Absent) Error() string { return a.What() + ": " + a.Remedy }

// What is the error without its remedy.
func (a *Absent) What() string {
	switch {
	case a.Library != "":
		var paths []string
		for _, f := range a.Lacking {
			paths = append(paths, f.Path)
		}
		return fmt.Sprintf("no %s in %s", a.Library, strings.Join(paths, ", "))
	case a.Named != "":
		return "no library of QNN in " + a.Named
	}
	return fmt.Sprintf("no library of QNN in any of %d folders, from %s to %s", len(a.Tried), a.Tried[0].Path, a.Tried[len(a.Tried)-1].Path)
}

// Unwrap says what kind of error it is.
func (a *Absent) Unwrap() error { return fs.ErrNotExist }

// lack tells that there are libraries, without that of a backend.
func (s System) lack(named, backend string, tried, lacking []Folder) error {
	a := &Absent{Named: cmp.Or(named, s.Env(Variable)), Tried: tried, Lacking: lacking}
	a.Library = s.FileName("Qnn" + strings.ToUpper(backend[:1]) + backend[1:])
	switch {
	case s.OS == "android":
		a.Remedy = "push those of an SDK that has it with estream device push --libraries FOLDER"
	case backend == "cpu" && s.OS+"/"+s.Arch == "linux/amd64":
		a.Remedy = "install QAIRT 2.47, the last whose wheel has it, with tools/qnn-libs 2.3.0"
		if a.Named != "" {
			a.Remedy += " and name its folder with " + Variable
		}
	case backend == "cpu":
		a.Remedy = "tools/qnn-libs has none for this system: name the folder of an SDK that has it with " + Variable
	default:
		a.Remedy = "install it with tools/qnn-libs, or name a folder that has it with " + Variable
	}
	return a
}

// none tells why no folder will do.
func (s System) none(named string, tried []Folder) error {
	a := &Absent{Named: cmp.Or(named, s.Env(Variable)), Tried: tried}
	if a.Named != "" {
		if err := s.misfit(tried); err != nil {
			return fmt.Errorf("libraries of QNN in %s: %w", a.Named, err)
		}
	}
	a.Remedy = "install some with tools/qnn-libs, or name their folder with " + Variable
	switch {
	case s.OS == "android":
		a.Remedy = "push them with estream device push --libraries FOLDER"
	case a.Named != "":
		a.Remedy = "name the folder that has " + s.FileName("QnnSystem") + ", or " + a.Remedy
	}
	return a
}

// misfit returns why a backend in one of the folders cannot be used here, nil if
// there is no backend.
func (s System) misfit(folders []Folder) error {
	for _, f := range folders {
		libraries, err := s.Libraries(f.Path)
		if err != nil {
			continue
		}
		for _, l := range libraries {
			if err := l.Misfit(s); l.Kind == Backend && err != nil {
				return err
			}
		}
	}
	return nil
}

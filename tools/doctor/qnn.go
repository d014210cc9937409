package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
)

func (r *Report) qnn(ctx context.Context, o Options) {
	const area = "qnn"
	if o.Built != nil {
		r.add(area, "in this build", Missing, o.Built.Error(), buildRemedy(o.System.OS))
	} else {
		r.add(area, "in this build", OK, "yes", "")
	}
	set, err := o.System.SearchFor(o.Libraries, "htp")
	var absent *find.Absent
	if errors.As(err, &absent) {
		set, err = o.System.Search(o.Libraries) // others may be there
	}
	switch {
	case errors.As(err, &absent):
		r.add(area, "libraries", Missing, absent.What(), absent.Remedy)
		set = &find.Set{}
	case err != nil:
		r.add(area, "libraries", Wrong, err.Error(), "name a folder with libraries for "+o.System.OS+"/"+o.System.Arch+" with "+find.Variable)
		set = &find.Set{}
	default:
		r.Folder, r.Libraries = set.Path, set.Libraries
		r.add(area, "libraries", OK, set.Path+", from "+set.Why, "")
		r.versions(o.System, set)
		r.load(ctx, o, "htp", set)
		r.load(ctx, o, "cpu", r.cpu(o, set))
	}
	r.htp(o, set)
}

// buildRemedy is how a program is built that can call the libraries.
func buildRemedy(system string) string {
	if system == "android" {
		return "CGO_ENABLED=1 GOOS=android GOARCH=arm64 CC=$NDK/toolchains/llvm/prebuilt/linux-x86_64/bin/aarch64-linux-android30-clang go build ./tools/estream"
	}
	return "the libraries are called on linux and android alone: GOOS=linux go build ./tools/estream, and run that there"
}

// versions says of which QAIRT each library is, and whether that is one.
func (r *Report) versions(s find.System, set *find.Set) {
	first, from := find.Build{}, ""
	for _, l := range set.Libraries {
		name := l.Name
		if l.Kind != find.Backend {
			name = fmt.Sprintf("%s v%d", l.Kind, l.Arch)
		}
		if err := l.Misfit(s); err != nil {
			r.add("qnn", name, Wrong, filepath.Base(l.Path), err.Error())
			continue
		}
		b, err := l.Build()
		switch {
		case err != nil:
			r.add("qnn", name, Wrong, err.Error(), "copy it again")
			continue
		case !b.Known():
			r.add("qnn", name, OK, filepath.Base(l.Path)+", which does not say its version", "")
			continue
		case !first.Known():
			first, from = b, filepath.Base(l.Path)
		}
		if b.Compare(first) != 0 {
			r.add("qnn", name, Wrong, fmt.Sprintf("%s is QAIRT %s, and %s is %s", filepath.Base(l.Path), b, from, first), "take all libraries, stubs and skels from one QAIRT")
			continue
		}
		r.add("qnn", name, OK, filepath.Base(l.Path)+", QAIRT "+b.String(), "")
	}
	for _, needed := range []struct{ name, file string }{{"system", "QnnSystem"}, {"htp", "QnnHtp"}} {
		if _, ok := set.Backend(needed.name); !ok {
			r.add("qnn", needed.name, Missing, "no "+s.FileName(needed.file)+" in "+set.Path, "copy it there from the same QAIRT")
		}
	}
}

// cpu returns the libraries that qnn-cpu is of, and tells of one that is not of set.
func (r *Report) cpu(o Options, set *find.Set) *find.Set {
	if _, ok := set.Backend("cpu"); ok {
		return set
	}
	other, err := o.System.SearchFor(o.Libraries, "cpu")
	if err != nil {
		what, remedy := err.Error(), "name another folder with "+find.Variable
		if absent := new(find.Absent); errors.As(err, &absent) {
			what, remedy = absent.What(), absent.Remedy
		}
		r.add("qnn", "cpu", Missing, what, remedy)
		return set
	}
	l, _ := other.Backend("cpu")
	b, err := l.Build()
	if err = errors.Join(l.Misfit(o.System), err); err != nil {
		r.add("qnn", "cpu", Wrong, l.Path, err.Error())
		return set
	}
	r.add("qnn", "cpu", OK, fmt.Sprintf("%s, QAIRT %s", l.Path, b), "")
	return other
}

// load loads the library of a backend, if set has one, in a process of its own.
func (r *Report) load(ctx context.Context, o Options, name string, set *find.Set) {
	l, ok := set.Backend(name)
	if !ok || len(o.Child.Command) == 0 || o.Built != nil {
		return
	}
	result, err := o.Child.Run(ctx, &native.Job{Library: l.Path})
	if err != nil {
		r.add("qnn", "loading "+name, Wrong, err.Error(), "keep the folders of the wheel or SDK side by side as they were: ldd "+l.Path+" tells what is missing")
		return
	}
	r.add("qnn", "loading "+name, OK, "it starts, and calls itself "+result.BuildID, "")
}

package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"estream/pager"
	"estream/runtime"
)

// A Source is a way to read weight files that --source names, as NAME or
// NAME=ARGUMENT.
type Source struct {
	Name string
	Doc  string // one line, with what the argument is

	// Open opens the weight file at path. Its errors say what argument is wanted.
	Open func(argument, path string) (pager.Source, error)
}

func (a *App) sourceNames() []string {
	names := []string{"file"}
	for _, s := range a.Sources {
		names = append(names, s.Name)
	}
	return names
}

// source returns what opens weight files as --source says; nil: as files.
func (a *App) source(flag string) (func(path string) (pager.Source, error), error) {
	name, argument, _ := strings.Cut(flag, "=")
	for _, s := range a.Sources {
		if s.Name == name {
			return func(path string) (pager.Source, error) { return s.Open(argument, path) }, nil
		}
	}
	if flag == "" || flag == "file" {
		return nil, nil
	}
	return nil, usagef("unknown source %q: use one of %s", name, strings.Join(a.sourceNames(), ", "))
}

// reading are the flags that say how weights are read.
func (f *runFlags) reading(fl *pflag.FlagSet, a *App) {
	fl.StringVar(&f.source, "source", "file", "how weight files are read: "+strings.Join(a.sourceNames(), ", "))
	fl.StringVar(&f.readLimit, "read-limit", "", "read at most so much a second, such as 1GB/s (default: as fast as it goes)")
	fl.StringVar(&f.checksum, "checksum", "always", "compare weights with their checksums: always, first (each record until it was once right, then trusted until the program ends) or off (a bit that the flash gets wrong comes out as wrong numbers)")
}

// read sets how weights are read as the flags say.
func (a *App) read(o *runtime.Options, f runFlags) (err error) {
	if o.Source, err = a.source(f.source); err != nil {
		return err
	}
	if o.Checksum, err = pager.ParsePolicy(cmp.Or(f.checksum, "always")); err != nil {
		return usageError{fmt.Errorf("--%w", err)}
	}
	if f.readLimit == "" {
		return nil
	}
	size, ok := strings.CutSuffix(f.readLimit, "/s")
	n, err := parseSize(size)
	if err != nil || !ok {
		return usagef("--read-limit %s: want bytes a second, such as 1GB/s", f.readLimit)
	}
	rate, err := pager.NewRate(float64(n), 0)
	if err != nil {
		return usagef("--read-limit %s: %w", f.readLimit, err)
	}
	open := o.Source
	o.Source = func(path string) (src pager.Source, err error) { // both files share the rate
		if open != nil {
			src, err = open(path)
		} else {
			src, err = pager.OpenFile(path)
		}
		if err != nil {
			return nil, err
		}
		return pager.Limit(src, rate), nil
	}
	return nil
}

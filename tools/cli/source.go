package cli

import (
	"strings"

	"estream/pager"
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

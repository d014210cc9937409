package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"estream/models/checkpoint"
)

// numbered is how the files of a split model are named.
var numbered = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// only returns the GGUF file of a folder, or the first of its split one, if there are no others.
func only(path string) (string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	models, first := []string{}, map[string]string{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != extension {
			continue
		}
		base := e.Name()
		if m := numbered.FindStringSubmatch(base); m != nil {
			base = m[1] + "-of-" + m[3]
		}
		if first[base] == "" {
			first[base] = e.Name()
			models = append(models, base)
		}
	}
	if len(models) != 1 {
		return "", fmt.Errorf("checkpoint %s: the folder holds %d GGUF models; name one file: %s", path, len(models), listed(first))
	}
	return first[models[0]], nil
}

// listed words the first few of the values, sorted.
func listed(values map[string]string) string {
	var names []string
	for _, v := range values {
		names = append(names, v)
	}
	slices.Sort(names)
	if len(names) > 8 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
	}
	return strings.Join(names, ", ")
}

// parts returns the files that make up the model that has a file of that name, all of which are there.
func parts(home checkpoint.Folder, name string) ([]string, error) {
	m := numbered.FindStringSubmatch(name)
	if m == nil {
		return []string{name}, nil
	}
	count, _ := strconv.Atoi(m[3])
	var names []string
	missing := map[string]string{}
	for i := range count {
		part := fmt.Sprintf("%s-%05d-of-%s%s", m[1], i+1, m[3], extension)
		names = append(names, part)
		if _, err := os.Lstat(home.Path(part)); errors.Is(err, fs.ErrNotExist) {
			missing[part] = part
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("checkpoint %s: %d of %d split files are not there: %s; download them again: %w",
			home.Path(name), len(missing), count, listed(missing), checkpoint.ErrIncomplete)
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("checkpoint %s: file %s of %s split files", home.Path(name), m[2], m[3])
	}
	return names, nil
}

// RuleSplit is of split files: what they say of their number and count is what their names say.
const RuleSplit checkpoint.Rule = "split"

// checkSplit checks that a file is the i'th of count.
func (f *file) checkSplit(i, count int) error {
	stated, split := f.meta.whole("split.count")
	number, _ := f.meta.whole("split.no")
	switch {
	case count == 1 && stated > 1:
		return f.fail("file %d of %d under a name of its own; split files are named like x-00001-of-%05d.gguf", number+1, stated, stated)
	case count > 1 && !split:
		return f.fail("named as file %d of %d, but its metadata has no split.count", i+1, count)
	case split && (stated != int64(max(count, 1)) || number != int64(i)):
		return f.fail("named as file %d of %d, but its metadata says %d of %d", i+1, count, number+1, stated)
	}
	return nil
}

func (f *file) fail(format string, args ...any) error {
	return &checkpoint.FormatError{File: f.path, Rule: RuleSplit, Detail: fmt.Sprintf(format, args...)}
}

// checkCount checks that split files have as many tensors as they say.
func (m *model) checkCount() error {
	first := m.files[0]
	if due, ok := first.meta.whole("split.tensors.count"); ok && due != int64(len(m.tensors)) {
		return first.fail("%d tensors in %d files, want %d", len(m.tensors), len(m.files), due)
	}
	return nil
}

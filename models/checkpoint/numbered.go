package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// numberedName is how the shards of a model are named: model-00002-of-00003.safetensors, or with another name.
var numberedName = regexp.MustCompile(`^(.+)-(\d+)-of-(\d+)\.safetensors$`)

// weights lists the weights of a folder as they are there, without regard to where the index places tensors: the
// numbered shards or else model.safetensors. Where neither is whole, what else holds tensors that the index names
// belongs to them, or what else there is where no index can be read.
func (f Folder) weights() ([]string, error) {
	names, err := f.numbered()
	if err == nil && len(names) > 0 {
		return names, nil
	}
	if err == nil && f.has(modelName) {
		return []string{modelName}, nil
	}
	entries, dirErr := os.ReadDir(f.real)
	if dirErr != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", f.path, cause(dirErr))
	}
	x, _ := readIndex(f) // nil where there is none
	others := false
	for _, e := range entries {
		name := e.Name()
		if filepath.Ext(name) == extension && !slices.Contains(names, name) && f.holdsOf(name, x) {
			names, others = append(names, name), true
		}
	}
	switch {
	case others:
		return names, nil
	case err != nil:
		return nil, err
	}
	return []string{modelName}, nil // as it should be
}

// loose returns where the weights of a folder hold what, or nothing if they are not whole.
func (f Folder) loose() map[string]place {
	names, err := f.weights()
	if err != nil {
		return nil
	}
	at, err := f.tensors(names...)
	if err != nil {
		return nil
	}
	return at
}

// holdsOf reports whether a file holds tensors that the index names; without an index, or if it cannot be read, it may.
func (f Folder) holdsOf(name string, x *index) bool {
	if x == nil {
		return true
	}
	at, err := f.tensors(name)
	return err != nil || len(x.lacking(func(tensor, _ string) bool { return at[tensor].shard == nil })) > 0
}

// tensors returns where files hold what.
func (f Folder) tensors(names ...string) (map[string]place, error) {
	s := newSafeTensors(f)
	defer s.Close()
	err := s.add(names...)
	return s.at, err
}

// numbered lists the numbered shards of a folder, sorted: those of the name model, where there are any. Where one is
// missing by its number, that is the error, and the list is of those that are there.
func (f Folder) numbered() ([]string, error) {
	entries, err := os.ReadDir(f.real)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", f.path, cause(err))
	}
	sets := map[string][]string{} // by the shards' name
	for _, e := range entries {
		if m := numberedName.FindStringSubmatch(e.Name()); m != nil {
			sets[m[1]] = append(sets[m[1]], e.Name())
		}
	}
	if model := sets["model"]; model != nil {
		sets = map[string][]string{"model": model}
	}
	var names []string
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		names = append(names, sets[set]...)
		err = cmp.Or(err, f.gap(set, sets[set]))
	}
	return names, err
}

// gap is the error for the first shard of a name that is missing by its number.
func (f Folder) gap(name string, shards []string) error {
	sets := map[string]map[int]bool{} // numbers by the total, as it is written
	for _, s := range shards {
		m := numberedName.FindStringSubmatch(s)
		if sets[m[3]] == nil {
			sets[m[3]] = map[int]bool{}
		}
		n, _ := strconv.Atoi(m[2]) // out of range: the largest int
		sets[m[3]][n] = true
	}
	for _, total := range slices.Sorted(maps.Keys(sets)) {
		if n := firstGap(sets[total], total); n > 0 {
			return fmt.Errorf("checkpoint %s: %d of the %s numbered shards here, %s-%05d-of-%s%s not; download it again: %w",
				f.path, len(sets[total]), total, name, n, total, extension, ErrIncomplete)
		}
	}
	return nil
}

// firstGap returns the first number of 1 to total that is not in have, or 0.
func firstGap(have map[int]bool, total string) int {
	end, _ := strconv.Atoi(total)
	for n := 1; n <= end; n++ { // at most one more step than have is long
		if !have[n] {
			return n
		}
	}
	return 0
}

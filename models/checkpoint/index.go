package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	indexName = "model.safetensors.index.json"
	maxIndex  = maxHeader

	maxMissing = 1000 // shards that are listed; a large model has some hundred

	remedy = "estream pack --ignore-index" // what sets Options.IgnoreIndex
)

// What an index can be wrong about, for callers to tell apart.
var (
	// ErrIncomplete is a shard that is not there.
	ErrIncomplete = errors.New("incomplete download")
	// ErrStaleIndex is an index that disagrees with shards which are complete by themselves: Options.IgnoreIndex
	// opens them.
	ErrStaleIndex = errors.New("index stale, shard headers complete")
	// ErrAbsent is a tensor that the index names and no shard holds.
	ErrAbsent = errors.New("tensor absent")
)

// An index says which shard holds a tensor.
type index struct {
	file    string
	tensors map[string][]string // by shard, in the file's order
	count   int
}

// readIndex reads the index of a folder, whose shards may be missing but cannot be elsewhere.
func readIndex(home Folder) (*index, error) {
	text, err := home.read(indexName, maxIndex)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(home.Path(indexName), text)
	if err != nil {
		return nil, err
	}
	for _, shard := range x.shards() {
		if err := home.local(shard); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// parseIndex reads weight_map and passes over everything else.
func parseIndex(file string, text []byte) (*index, error) {
	x := &index{file: file, tensors: map[string][]string{}}
	w := newWalker(file, text)
	err := w.document(func(key string) error {
		if key != "weight_map" {
			return w.skip(0)
		}
		return w.object(key, func(tensor string) error {
			w.tensor = tensor
			shard, err := w.string("the shard")
			x.tensors[shard] = append(x.tensors[shard], tensor)
			x.count++
			w.tensor = ""
			return err
		})
	})
	if err == nil && x.count == 0 {
		err = w.fail(RuleField, "no tensors in weight_map")
	}
	return x, err
}

func (x *index) shards() []string { return slices.Sorted(maps.Keys(x.tensors)) }

// missing is the error for shards that are not there: the index is stale where the numbered shards of the folder
// hold every tensor, else the download is incomplete.
func (x *index) missing(shards []string, home Folder) error {
	here := home.loose()
	if len(x.lacking(func(tensor, _ string) bool { return here[tensor].shard != nil })) == 0 {
		return fmt.Errorf("%s: names shards that are not here (%s), but those here hold all its %d tensors; %s reads them: %w",
			x.file, list(shards, 8), x.count, remedy, ErrStaleIndex)
	}
	var lines []string
	for _, s := range shards[:min(maxMissing, len(shards))] {
		lines = append(lines, fmt.Sprintf("%s (%s)", s, list(x.tensors[s], 4)))
	}
	text := strings.Join(lines, "; ")
	if more := len(shards) - len(lines); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s: %d of %d shards missing: %s; download them again: %w", x.file, len(shards), len(x.tensors), text, ErrIncomplete)
}

// check compares the index with at, the tensors of its shards. That they hold more than it names is no fault.
func (x *index) check(at map[string]place, home Folder) error {
	misplaced := x.lacking(func(tensor, shard string) bool {
		p := at[tensor]
		return p.shard != nil && p.shard.name == shard
	})
	if len(misplaced) == 0 {
		return nil
	}
	here := home.loose()
	absent := x.lacking(func(tensor, _ string) bool { return at[tensor].shard != nil || here[tensor].shard != nil })
	if len(absent) > 0 {
		return fmt.Errorf("%s: names %d of %d tensors that no shard holds: %s; download the index and shards of one revision: %w",
			x.file, len(absent), x.count, list(absent, 8), ErrAbsent)
	}
	return fmt.Errorf("%s: places %d of %d tensors in shards that do not hold them, but others do: %s; %s reads them: %w",
		x.file, len(misplaced), x.count, list(misplaced, 8), remedy, ErrStaleIndex)
}

// lacking returns the tensors that held denies, sorted.
func (x *index) lacking(held func(tensor, shard string) bool) []string {
	var names []string
	for shard, tensors := range x.tensors {
		for _, t := range tensors {
			if !held(t, shard) {
				names = append(names, t)
			}
		}
	}
	slices.Sort(names)
	return names
}

package checkpoint

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
)

// numberedName is how the shards of a model are named: model-00002-of-00003.safetensors.
var numberedName = regexp.MustCompile(`^model-(\d+)-of-(\d+)\.safetensors$`)

// numbered lists the numbered shards of a folder, sorted. Where one is missing by its number, that is the error.
func (f Folder) numbered() ([]string, error) {
	entries, err := os.ReadDir(f.real)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", f.path, cause(err))
	}
	var names []string
	sets := map[string]map[int]bool{} // numbers by the total, as it is written
	for _, e := range entries {
		m := numberedName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		names = append(names, e.Name())
		if sets[m[2]] == nil {
			sets[m[2]] = map[int]bool{}
		}
		n, _ := strconv.Atoi(m[1]) // out of range: the largest int
		sets[m[2]][n] = true
	}
	for _, total := range slices.Sorted(maps.Keys(sets)) {
		if gap := firstGap(sets[total], total); gap != "" {
			return nil, fmt.Errorf("checkpoint %s: %d of the %s numbered shards here, %s not; download it again: %w",
				f.path, len(sets[total]), total, gap, ErrIncomplete)
		}
	}
	return names, nil
}

// firstGap names the first shard of 1 to total that is not in have.
func firstGap(have map[int]bool, total string) string {
	end, _ := strconv.Atoi(total)
	for n := 1; n <= end; n++ { // at most one more step than have is long
		if !have[n] {
			return fmt.Sprintf("model-%05d-of-%s.safetensors", n, total)
		}
	}
	return ""
}

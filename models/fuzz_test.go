package models_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models"
	"estream/models/checkpoint"
)

// FuzzOpen: a checkpoint is refused, or every weight of the graphs can be read from it.
func FuzzOpen(f *testing.F) {
	for _, c := range spellings {
		x := toyCheckpoint(nil)
		c.change(x)
		f.Add(x.config, x.list())
	}
	x := toyCheckpoint(map[string]any{"tie_word_embeddings": absent})
	delete(x.tensors, "lm_head.weight")
	x.put("model.embed_tokens.weight", 16, 8)
	f.Add(x.config, x.list())
	f.Fuzz(func(t *testing.T, config []byte, list string) {
		if c, err := models.ReadConfig(config); err != nil || c.NumHiddenLayers > 64 || c.NumExperts > 64 {
			return
		}
		x, family := listed(config, list), spelled()
		m, err := models.Open(x, []models.Family{family})
		if err != nil {
			return
		}
		for weight := range family.Weights {
			for l := range m.Config.NumHiddenLayers {
				read(t, m, weight, l, 0)
				read(t, m, weight, l, m.Config.NumExperts-1)
			}
		}
		_, err = m.CompareHead(context.Background())
		require.NoError(t, err)
	})
}

// list is a line for each tensor: its name, type and extents.
func (f *fake) list() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		fmt.Fprintln(&b, name, f.tensors[name].dtype, strings.Trim(fmt.Sprint(f.tensors[name].shape), "[]"))
	}
	return b.String()
}

// listed is the checkpoint of a list, without what is too large.
func listed(config []byte, list string) *fake {
	f := &fake{config: config, tensors: map[string]fakeTensor{}}
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) < 2 || len(words) > 6 {
			continue
		}
		shape, n := []int{}, 1
		for _, w := range words[2:] {
			if d, err := strconv.Atoi(w); err == nil && d > 0 && d <= 1<<12/n {
				shape, n = append(shape, d), n*d
			}
		}
		f.tensors[words[0]] = fakeTensor{checkpoint.DType(words[1]), shape, make([]float32, n)}
	}
	return f
}

package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models"
)

// What a stranger names comes in a message as far as it helps.
func TestLongNames(t *testing.T) {
	const end = ": the family does not know this setting, and ignoring it could change the model; remove what changes nothing"
	long := strings.Repeat("k", 100<<10)
	_, err := models.Build(toy(), readConfig(t, map[string]any{long: 1, "rope_scaling": map[string]any{long: long}}))
	require.EqualError(t, err, fmt.Sprintf("models: family toy: config.json: %.80s is 1; config.json: rope_scaling.%.80s is \"%.56s...", long, long, long)+end)

	many, told := map[string]any{}, []string{}
	for i := range 1000 {
		key := fmt.Sprintf("key%03d", i)
		many[key], told = i, append(told, fmt.Sprintf("config.json: %s is %d", key, i))
	}
	_, err = models.Build(toy(), readConfig(t, many))
	require.EqualError(t, err, "models: family toy: "+strings.Join(told[:16], "; ")+"; and 984 more"+end)

	f := toyCheckpoint(map[string]any{"architectures": []string{"ToyForCausalLM", long}})
	delete(f.tensors, "model.norm.weight")
	_, err = models.Open(f, []models.Family{toy()})
	require.EqualError(t, err, fmt.Sprintf(`models: the checkpoint of architecture %.200s has no tensor "model.norm.weight"`, "ToyForCausalLM, "+long))

	aside := telling{toyCheckpoint(nil), map[string]string{long: "for a reason"}, nil}
	aside.put(long, 1)
	aside.put(long+".rotary_emb.inv_freq", 1)
	m, err := models.Open(aside, []models.Family{toy()})
	require.NoError(t, err)
	require.Equal(t, []string{"a note", "skipped, for a reason: " + long[:200], "skipped, for they follow from config.json: " + long[:200]}, m.Notes)
}

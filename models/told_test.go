package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models"
	"estream/models/checkpoint"
)

const ofToy = "models: the checkpoint of architecture ToyForCausalLM"

// A telling fake says of some tensors why they are no weights, and has notes.
type telling struct {
	*fake
	aside, opaque map[string]string
}

func (f telling) Notes() []string { return []string{"a note"} }

func (f telling) Tensors() []checkpoint.Tensor {
	ts := f.fake.Tensors()
	for i, t := range ts {
		ts[i].Aside, ts[i].Opaque = f.aside[t.Name], f.opaque[t.Name]
	}
	return ts
}

// What a checkpoint says of its tensors is noted, or told with what else is wrong.
func TestToldByTheCheckpoint(t *testing.T) {
	f := telling{toyCheckpoint(nil), map[string]string{"a_scale": "scales that are applied", "b_scale": "scales that are applied", "x.input_scale": "scales of activations"}, nil}
	f.put("a_scale", 1)
	f.put("b_scale", 1)
	f.put("x.input_scale", 1)
	m, err := models.Open(f, []models.Family{toy()})
	require.NoError(t, err)
	require.Equal(t, []string{"a note", "skipped, scales of activations: x.input_scale", "skipped, scales that are applied: a_scale, b_scale"}, m.Notes)

	f.opaque = map[string]string{"model.norm.weight": "codes", "lm_head.weight": "a type that is not read", "model.embed_tokens.weight": "codes"}
	_, err = models.Open(f, []models.Family{toy()})
	require.EqualError(t, err, ofToy+`: tensor "lm_head.weight" is BF16: a type that is not read; tensor "model.embed_tokens.weight" is BF16, tensor "model.norm.weight" is BF16: codes`)
}

// A tensor that is missing is named as the others are spelled.
func TestMissingInGGUF(t *testing.T) {
	f := toyCheckpoint(nil)
	f.rename("model.embed_tokens", "token_embd", "model.norm", "output_norm", "lm_head", "output")
	_, err := models.Open(f, []models.Family{toy()})
	require.NoError(t, err)
	for gone, want := range map[string]string{"token_embd.weight": "token_embd.weight", "output_norm.weight": "output_norm.weight", "model.layers.1.mlp.experts.2.up_proj.weight": "blk.1.ffn_up_exps.weight"} {
		kept := f.tensors[gone]
		delete(f.tensors, gone)
		_, err := models.Open(f, []models.Family{toy()})
		require.EqualError(t, err, ofToy+` has no tensor "`+want+`"`)
		f.tensors[gone] = kept
	}
}

package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models"
)

func TestReadConfig(t *testing.T) {
	c := readConfig(t, map[string]any{"num_key_value_heads": absent, "num_experts": nil, "n_routed_experts": 4, "rms_norm_eps": absent, "norm_eps": 1e-6, "max_position_embeddings": 64.0})
	got := fmt.Sprint(c.VocabSize, c.HiddenSize, c.IntermediateSize, c.MoEIntermediateSize, c.NumHiddenLayers, c.NumAttentionHeads, c.NumKeyValueHeads,
		c.HeadDim, c.NumExperts, c.NumExpertsPerTok, c.MaxPositionEmbeddings, c.RMSNormEps, c.RopeTheta, c.TieWordEmbeddings)
	require.Equal(t, "10 8 4 0 2 2 2 4 4 2 64 1e-06 10000 false", got)
	require.Equal(t, 6, readConfig(t, map[string]any{"head_dim": 6}).HeadDim)
	require.True(t, readConfig(t, map[string]any{"tie_word_embeddings": absent, "tie_embedding": true}).TieWordEmbeddings)
}

// refusedFields are changes of config.json and what is said of them.
var refusedFields = []struct {
	key   string
	value any
	want  string
}{
	{"num_hidden_layers", 1000000000, "num_hidden_layers is 1000000000: want a whole number from 1 to 4096"},
	{"num_hidden_layers", absent, "num_hidden_layers is not there: want a whole number from 1 to 4096"},
	{"num_hidden_layers", nil, "num_hidden_layers is not there: want a whole number from 1 to 4096"},
	{"hidden_size", -8, "hidden_size is -8: want a whole number from 1 to 65536"},
	{"hidden_size", 8.5, "hidden_size is 8.5: want a whole number from 1 to 65536"},
	{"hidden_size", "8", `hidden_size is "8": want a whole number from 1 to 65536`},
	{"hidden_size", []int{8}, "hidden_size is [8]: want a whole number from 1 to 65536"},
	{"hidden_size", 7, "num_attention_heads is 2: want a divisor of hidden_size 7, or a head_dim"},
	{"vocab_size", 1 << 40, "vocab_size is 1099511627776: want a whole number from 1 to 4194304"},
	{"intermediate_size", 0, "intermediate_size is 0: want a whole number from 1 to 1048576"},
	{"num_attention_heads", 5000, "num_attention_heads is 5000: want a whole number from 1 to 4096"},
	{"num_key_value_heads", 3, "num_key_value_heads is 3: want a divisor of num_attention_heads 2"},
	{"head_dim", 1e300, "head_dim is 1e+300: want a whole number from 1 to 4096"},
	{"num_experts", 0, "num_experts is 0: want a whole number from 1 to 4096"},
	{"num_experts", true, "num_experts is true: want a whole number from 1 to 4096"},
	{"num_local_experts", 8, "num_local_experts is 8: want 4, as num_experts is"},
	{"num_experts_per_tok", 5, "num_experts_per_tok is 5: want a whole number from 1 to the number of experts, 4"},
	{"num_experts_per_tok", absent, "num_experts_per_tok is not there: want a whole number from 1 to the number of experts, 4"},
	{"num_experts", absent, "num_experts_per_tok is 2: want a whole number from 1 to the number of experts, 0"},
	{"rms_norm_eps", absent, "rms_norm_eps is not there: want a number above 0, at most 1"},
	{"rms_norm_eps", -1e-5, "rms_norm_eps is -0.00001: want a number above 0, at most 1"},
	{"rms_norm_eps", 2, "rms_norm_eps is 2: want a number above 0, at most 1"},
	{"norm_eps", 1e-6, "norm_eps is 0.000001: want 1e-05, as rms_norm_eps is"},
	{"rope_theta", 0, "rope_theta is 0: want a number above 1, at most 1e+12"},
	{"rope_theta", 1, "rope_theta is 1: want a number above 1, at most 1e+12"},
	{"rope_theta", 1e-300, "rope_theta is 1e-300: want a number above 1, at most 1e+12"},
	{"rope_theta", 2e12, "rope_theta is 2000000000000: want a number above 1, at most 1e+12"},
	{"rope_theta", "10000", `rope_theta is "10000": want a number above 1, at most 1e+12`},
	{"tie_word_embeddings", "yes", `tie_word_embeddings is "yes": want true or false`},
	{"tie_embedding", true, "tie_embedding is true but tie_word_embeddings is false"},
	{"architectures", "ToyForCausalLM", `architectures is "ToyForCausalLM": want a list of texts`},
	{"rope_scaling", "linear", `rope_scaling is "linear": want an object`},
	{"rope_parameters", map[string]any{"rope_theta": 5}, "rope_theta is 10000 but that of rope_parameters is 5"},
	{"rope_parameters", map[string]any{"type": "yarn", "rope_type": []int{1}}, `rope_scaling.type is "yarn" but rope_scaling.rope_type is [1]`},
}

func TestReadConfigErrors(t *testing.T) {
	for _, c := range refusedFields {
		got, err := models.ReadConfig(toyConfig(map[string]any{c.key: c.value}))
		require.EqualError(t, err, "models: config.json: "+c.want, "U40 %s = %v", c.key, c.value)
		require.Nil(t, got)
	}
	_, err := models.ReadConfig(toyConfig(map[string]any{"num_hidden_layers": 4096, "num_experts": 4096}))
	require.EqualError(t, err, "models: config.json: num_hidden_layers is 4096: want at most 64 layers of 4096 experts")
}

// refusedText are texts that are no config.json.
var refusedText = []struct{ text, want string }{
	{"", "config.json: the object: unexpected EOF"},
	{"[]", "config.json: [] is no object"},
	{"7 8", "config.json: 7 is no object"},
	{`{} {}`, "config.json: more text after the object"},
	{`{"hidden_size": 8, "hidden_size": 9}`, "config.json: hidden_size is given twice"},
	{`{"rms_norm_eps": NaN, "a": 1}`, "config.json: rms_norm_eps is NaN: invalid character 'N' looking for beginning of value"},
	{`{"rope_scaling": {"factor": -Infinity}}`, "config.json: rope_scaling.factor is -Infinity: invalid character 'I' in numeric literal"},
	{`{"hidden_size": 8`, "config.json: the object: unexpected EOF"},
	{`{"hidden_size":`, "config.json: hidden_size: unexpected EOF"},
	{`{"a": [1, 2}`, "config.json: a: invalid character '}' after array element"},
	{strings.Repeat(`{"a":`, 17) + "1" + strings.Repeat("}", 17), "config.json: a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a: nested deeper than 16"},
	{strings.Repeat("[", 1<<20), "config.json: the object: nested deeper than 16"},
	{strings.Repeat("[", 10<<20), "config.json: 10485760 bytes, more than 1048576"},
	{`{"rms_norm_eps": 1e999}`, "config.json: vocab_size is not there: want a whole number from 1 to 4194304"},
}

func TestMalformedConfig(t *testing.T) {
	for _, c := range refusedText {
		_, err := models.ReadConfig([]byte(c.text))
		require.EqualError(t, err, "models: "+c.want, "U40 %.80s", c.text)
	}
	overflow := strings.Replace(string(toyConfig(nil)), "0.00001", "1e999", 1)
	_, err := models.ReadConfig([]byte(overflow))
	require.EqualError(t, err, "models: config.json: rms_norm_eps is 1e999: want a number above 0, at most 1")
}

func FuzzReadConfig(f *testing.F) {
	f.Add(toyConfig(nil))
	f.Add(toyConfig(map[string]any{"rope_parameters": map[string]any{"rope_theta": 1e4, "rope_type": "default"}, "rope_theta": absent}))
	for _, c := range refusedFields {
		f.Add(toyConfig(map[string]any{c.key: c.value}))
	}
	for _, c := range refusedText {
		if len(c.text) < 1000 {
			f.Add([]byte(c.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := models.ReadConfig(data)
		if err != nil || c.NumHiddenLayers > 64 {
			return
		}
		m, err := models.Build(toy(), c)
		if err != nil {
			return
		}
		if err := m.Verify(); err != nil || len(m.Graphs) != c.NumHiddenLayers+2 {
			t.Fatalf("%d graphs, %v, of %s", len(m.Graphs), err, data)
		}
	})
}

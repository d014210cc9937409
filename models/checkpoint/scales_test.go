package checkpoint_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// e4m3 makes a tensor of the codes of 1, 2 and -1.5 in turn.
func e4m3(shape ...int) checkpointtest.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]byte, n)
	for i := range data {
		data[i] = []byte{0x38, 0x40, 0xbc}[i%3]
	}
	return checkpointtest.Tensor{DType: "F8_E4M3", Shape: shape, Data: data}
}

// scales makes a tensor of 1, 2, 3...
func scales(shape ...int) checkpointtest.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i + 1)
	}
	return checkpointtest.F32(shape, values...)
}

var scaled = []struct {
	name, suffix string
	codes        checkpointtest.Tensor
	scales       checkpointtest.Tensor
	config       string
	at           func(matrix, row, col int) int // the scale of an element
}{
	{"U06 ragged blocks", "_scale_inv", e4m3(200, 300), scales(2, 3), "", func(_, r, k int) int { return r/128*3 + k/128 }},
	{"blocks of another size", "_scale_inv", e4m3(20, 30), scales(3, 2), `{"quantization_config": {"quant_method": "fp8", "weight_block_size": [8, 16]}}`,
		func(_, r, k int) int { return r/8*2 + k/16 }},
	{"blocks of stacked matrices", "_scale_inv", e4m3(3, 130, 5), scales(3, 2, 1), "", func(m, r, _ int) int { return m*2 + r/128 }},
	{"one, in bf16", "_scale", e4m3(20, 30), checkpointtest.BF16(nil, 3), "", func(int, int, int) int { return 2 }},
	{"one of a vector", "_scale", e4m3(20), scales(1), "", func(int, int, int) int { return 0 }},
	{"a row", "_scale", e4m3(20, 30), scales(20, 1), "", func(_, r, _ int) int { return r }},
	{"a row, as a vector", "_scale", e4m3(20, 30), scales(20), "", func(_, r, _ int) int { return r }},
	{"a stacked row", "_scale", e4m3(3, 20, 30), scales(3, 20, 1), "", func(m, r, _ int) int { return m*20 + r }},
	{"a matrix", "_scale", e4m3(3, 20, 30), scales(3, 1, 1), "", func(m, _, _ int) int { return m }},
	{"a matrix, as a vector", "_scale", e4m3(3, 20, 30), scales(3), "", func(m, _, _ int) int { return m }},
}

// Each element is its code times the scale of its block, however many rows are read at once.
func TestScales(t *testing.T) {
	for _, c := range scaled {
		dir := tempDir(t)
		must(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors{"w": c.codes, "w" + c.suffix: c.scales}))
		if c.config != "" {
			must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(c.config), 0o666))
		}
		ckpt := open(t, dir)
		w, s := ckpt.Tensors()[0], ckpt.Tensors()[1]
		if w.Opaque != "" || s.Aside != "scales that are applied" {
			t.Fatalf("%s: opaque %q, aside %q", c.name, w.Opaque, s.Aside)
		}
		shape := slices.Concat([]int{1, 1, 1}[min(3, len(w.Shape)):], w.Shape) // matrices, rows, columns
		if len(w.Shape) == 1 {
			shape = []int{1, w.Shape[0], 1}
		}
		width := 1
		for _, d := range w.Shape[1:] {
			width *= d
		}
		for _, step := range []int{1, 7, w.Shape[0]} {
			for row := 0; row < w.Shape[0]; row += step {
				n := min(step, w.Shape[0]-row)
				got := make([]float32, n*width)
				must(t, ckpt.Read(context.Background(), "w", row, n, got))
				for i, v := range got {
					at := row*width + i
					code := []float32{1, 2, -1.5}[at%3]
					want := code * float32(c.at(at/(shape[1]*shape[2]), at/shape[2]%shape[1], at%shape[2])+1)
					if v != want {
						t.Fatalf("%s, rows %d+%d, element %d: got %v, want %v", c.name, row, n, i, v, want)
					}
				}
			}
		}
	}
}

// U06, U07: codes without scales are told, scales of activations and such that no tensor has are told apart.
func TestCodesAndAsides(t *testing.T) {
	c, _ := openFile(t, tensors{
		"a.weight": e4m3(2, 2), "b.weight": random("F8_E5M2", 2, 2), "b.weight_scale": scales(), "b.input_scale": scales(), "c.weight": random("F4", 2, 2), "c.weight_scale": scales(),
		"d.weight": random("I8", 2, 2), "e.k_scale": scales(1), "f.k_scale": scales(2), "g.weight": random("BF16", 2, 2), "h": random("F8_E8M0", 4), "h_scale": scales(),
	})
	opaque, aside := map[string]string{}, map[string]string{}
	for _, x := range c.Tensors() {
		if x.Opaque != "" {
			opaque[x.Name] = x.Opaque
		}
		if x.Aside != "" {
			aside[x.Name] = x.Aside
		}
	}
	got, err := json.Marshal([]map[string]string{opaque, aside})
	must(t, err)
	want := `[{"a.weight":"codes, whose scales are not applied; use the model as published in bf16, or one in FP8 with its scales, or a GGUF file of it","c.weight":"codes, whose scales are not applied; use the model as published in bf16, or one in FP8 with its scales, or a GGUF file of it","d.weight":"codes, whose scales are not applied; use the model as published in bf16, or one in FP8 with its scales, or a GGUF file of it","h":"codes, whose scales are not applied; use the model as published in bf16, or one in FP8 with its scales, or a GGUF file of it"},` +
		`{"b.input_scale":"scales of activations, which are not rounded so here","b.weight_scale":"scales that are applied","e.k_scale":"scales of activations, which are not rounded so here"}]`
	if string(got) != want {
		t.Fatalf("\n got: %s\nwant: %s", got, want)
	}
}

func TestScalesRefused(t *testing.T) {
	for _, c := range []struct {
		codes, scales checkpointtest.Tensor
		config        string
		want          string
	}{
		{e4m3(200, 300), scales(3, 2), "", `DIR/model.safetensors: tensor "w_scale_inv": scales: [3 2] for [200 300], want [2 3] in blocks of [128 128], or one for each row or for all`},
		{e4m3(200, 300), scales(300), "", `DIR/model.safetensors: tensor "w_scale_inv": scales: [300] for [200 300], want [2 3] in blocks of [128 128], or one for each row or for all`},
		{e4m3(3, 200, 300), scales(2, 3), "", `DIR/model.safetensors: tensor "w_scale_inv": scales: [2 3] for [3 200 300], want [3 2 3] in blocks of [128 128], or one for each row or for all`},
		{e4m3(20), scales(2), "", `DIR/model.safetensors: tensor "w_scale_inv": scales: [2] for [20], want one`},
		{e4m3(20, 2), random("I32", 1), "", `DIR/model.safetensors: tensor "w_scale_inv": scales: of type I32, want a float`},
		{e4m3(20, 2), scales(1), `{"quantization_config": {"weight_block_size": [0, 128]}}`, `DIR/config.json: weight_block_size is [0 128]: want two sizes from 1 to 1048576`},
		{e4m3(20, 2), scales(1), `{"quantization_config": {"weight_block_size": [128, 9223372036854775807]}}`, `DIR/config.json: weight_block_size is [128 9223372036854775807]: want two sizes from 1 to 1048576`},
		{e4m3(20, 2), scales(1), `{"quantization_config": {"weight_block_size": [128]}}`, `DIR/config.json: weight_block_size is [128]: want two sizes from 1 to 1048576`},
	} {
		dir := tempDir(t)
		must(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors{"w": c.codes, "w_scale_inv": c.scales}))
		if c.config != "" {
			must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(c.config), 0o666))
		}
		_, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
		wantError(t, err, dir, c.want)
	}
	c, _ := openFile(t, tensors{"w": e4m3(0, 2), "w_scale": scales(7)})
	must(t, c.Read(context.Background(), "w", 0, 0, nil))
}

// FP8 is read; what other methods make is refused by the method's name, or by what its tensors are named.
func TestQuantizationMethods(t *testing.T) {
	remedy := ", which is not read: use the model as published in bf16, or one in FP8 with its scales, or a GGUF file of it"
	for _, c := range []struct {
		config, tensor, want string
	}{
		{`{}`, "w", ""},
		{`{"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}`, "w", ""},
		{`{"quantization_config": {"quant_method": "fbgemm_fp8"}}`, "w", ""},
		{`{"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized"}}`, "w", ""},
		{`{"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}`, "w", ""},
		{`{"quantization_config": {"quant_method": "gptq", "bits": 4}}`, "w", `quantized by "gptq"`},
		{`{"quantization_config": {"quant_method": "awq", "bits": 4}}`, "w", `quantized by "awq"`},
		{`{"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}}`, "w", `quantized by "bitsandbytes"`},
		{`{"quantization_config": {"quant_method": "mxfp4"}}`, "w", `quantized by "mxfp4"`},
		{`{"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}`, "w", `quantized by "modelopt" NVFP4`},
		{`{"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}}`, "w", `quantized by "compressed-tensors" pack-quantized`},
		{`{}`, "a.qweight", `quantized by GPTQ or AWQ (tensor "a.qweight")`},
		{`{}`, "a.weight.absmax", `quantized by bitsandbytes (tensor "a.weight.absmax")`},
		{`{}`, "a.weight.quant_state.bitsandbytes__nf4", `quantized by bitsandbytes (tensor "a.weight.quant_state.bitsandbytes__nf4")`},
		{`{}`, "a.SCB", `quantized by bitsandbytes (tensor "a.SCB")`},
	} {
		dir := tempDir(t)
		must(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors{c.tensor: scales(1)}))
		must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(c.config), 0o666))
		text, err := open(t, dir).Config()
		if c.want == "" {
			must(t, err)
			if string(text) != c.config {
				t.Fatalf("got %s, want %s", text, c.config)
			}
			continue
		}
		wantError(t, err, dir, "checkpoint DIR: its weights are "+c.want+remedy)
	}
}

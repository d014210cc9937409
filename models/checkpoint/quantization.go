package checkpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A quantization is what config.json says of codes: quantization_config. Other keys of it concern how a model was made,
// or activations, which are not rounded as it says.
type quantization struct {
	Method string `json:"quant_method"`
	Format string `json:"format"`     // of compressed-tensors
	Algo   string `json:"quant_algo"` // of modelopt
	Block  []int  `json:"weight_block_size"`
}

// quantizationOf reads config.json, whose errors are for others to find.
func quantizationOf(config []byte) (q quantization) {
	_ = json.Unmarshal(config, &struct {
		Q *quantization `json:"quantization_config"`
	}{&q})
	return q
}

// instead is the remedy for codes that are not read.
const instead = "use the model as published in bf16, or one in FP8 with its scales, or a GGUF file of it"

// refuse reports codes of a method that is not read. FP8 is, whose scales Read applies.
func (s *safeTensors) refuse(q quantization) error {
	var name string
	switch {
	case q.Method == "fp8", q.Method == "fbgemm_fp8",
		q.Method == "compressed-tensors" && slices.Contains([]string{"float-quantized", "naive-quantized"}, q.Format),
		q.Method == "modelopt" && q.Algo == "FP8":
		return nil
	case q.Method == "":
		if name = s.foreign(); name == "" {
			return nil
		}
	default:
		name = strings.TrimSpace(fmt.Sprintf("%.80q %.80s%.80s", q.Method, q.Format, q.Algo))
	}
	return fmt.Errorf("checkpoint %s: its weights are quantized by %s, which is not read: %s", s.home.path, name, instead)
}

// foreign names the method that the tensors' names show, where config.json says nothing.
func (s *safeTensors) foreign() string {
	for _, t := range s.tensors {
		switch {
		case strings.HasSuffix(t.Name, ".qweight"):
			return fmt.Sprintf("GPTQ or AWQ (tensor %.200q)", t.Name)
		case strings.HasSuffix(t.Name, ".absmax"), strings.HasSuffix(t.Name, ".SCB"), strings.Contains(t.Name, ".quant_state."):
			return fmt.Sprintf("bitsandbytes (tensor %.200q)", t.Name)
		}
	}
	return ""
}

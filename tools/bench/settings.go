package bench

// Settings are what llama-bench can vary of how a machine is used. But for the
// types of keys and values they are the same in every Result: they stand there for
// readers that ask for them. load_mode took the place of use_mmap, and n_cpu_moe,
// fit_target and fit_min_ctx were added with it; readers of either time find theirs.
type Settings struct {
	CPUMask             string `json:"cpu_mask"` // 0x0: threads run where the system puts them
	CPUStrict           bool   `json:"cpu_strict"`
	Poll                int    `json:"poll"` // 50: threads that wait do so awake for a while, then sleep
	TypeK               string `json:"type_k"`
	TypeV               string `json:"type_v"`
	GPULayers           int    `json:"n_gpu_layers"`
	CPUExperts          int    `json:"n_cpu_moe"`
	SplitMode           string `json:"split_mode"` // none
	MainGPU             int    `json:"main_gpu"`
	NoKVOffload         bool   `json:"no_kv_offload"`
	FlashAttn           int    `json:"flash_attn"` // 1: on
	TensorSplit         string `json:"tensor_split"`
	TensorBuftOverrides string `json:"tensor_buft_overrides"` // none
	LoadMode            string `json:"load_mode"`             // dio: reads past the page cache
	UseMmap             bool   `json:"use_mmap"`
	Embeddings          bool   `json:"embeddings"`
	NoOpOffload         int    `json:"no_op_offload"`
	FitTarget           int    `json:"fit_target"`
	FitMinCtx           int    `json:"fit_min_ctx"`
}

// settings are those of a model with keys and values of some types.
func settings(k, v string) Settings {
	return Settings{
		CPUMask: "0x0", Poll: 50, TypeK: k, TypeV: v, SplitMode: "none", FlashAttn: 1,
		TensorSplit: "0.00", TensorBuftOverrides: "none", LoadMode: "dio",
	}
}

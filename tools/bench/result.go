package bench

import "fmt"

// A Result is what a test gave. Fields of llama-bench have its names; a field that
// is null was not measured. Times are averages of the repetitions, but for the
// four of the bubble, which are medians.
type Result struct {
	BuildCommit   string `json:"build_commit"`
	BuildNumber   int    `json:"build_number"`
	CPUInfo       string `json:"cpu_info"`
	GPUInfo       string `json:"gpu_info"`
	Backends      string `json:"backends"`
	ModelFilename string `json:"model_filename"`
	ModelType     string `json:"model_type"`
	ModelSize     int64  `json:"model_size"` // bytes of weights
	ModelParams   int64  `json:"model_n_params"`
	Batch         int    `json:"n_batch"`  // the prompt: it runs as a whole
	Microbatch    int    `json:"n_ubatch"` // rows of a layer's body at a time
	Threads       int    `json:"n_threads"`
	Settings
	Prompt   int    `json:"n_prompt"`
	Gen      int    `json:"n_gen"`   // 0
	Depth    int    `json:"n_depth"` // 0
	TestTime string `json:"test_time"`

	AvgNS     int64     `json:"avg_ns"`
	StddevNS  int64     `json:"stddev_ns"`
	AvgTS     float64   `json:"avg_ts"` // tokens a second
	StddevTS  float64   `json:"stddev_ts"`
	SamplesNS []int64   `json:"samples_ns"`
	SamplesTS []float64 `json:"samples_ts"`

	Kernels  string `json:"kernels"`  // the instruction set
	Schedule string `json:"schedule"` // that of the plan, where it was left to it
	Seed     uint64 `json:"seed"`
	Q        int    `json:"q"`
	B        int    `json:"b"`
	G        int    `json:"g"`

	ArenaBytes    int64  `json:"arena_bytes"`
	ResidentBytes int64  `json:"resident_bytes"` // weights that stay in memory from run to run
	PlanBytes     int64  `json:"plan_bytes"`
	PeakBytes     *int64 `json:"peak_bytes"` // of the process so far; null after a model was in memory for the bubble
	BytesRead     int64  `json:"bytes_read"`
	BytesWasted   int64  `json:"bytes_wasted"`
	Guessed       int    `json:"guessed"` // experts, before their routes were known
	GuessHits     int    `json:"guess_hits"`
	GuessMisses   int    `json:"guess_misses"` // that were wanted and not guessed

	ReadNS         int64   `json:"read_ns"`    // with a read in flight
	ComputeNS      int64   `json:"compute_ns"` // in programs
	WaitNS         int64   `json:"wait_ns"`    // for reads
	BubbleEstimate float64 `json:"bubble_estimate"`

	TioNS         *int64   `json:"tio_ns"`   // the same reads with nothing computed
	TexecNS       *int64   `json:"texec_ns"` // the same computation with all weights in memory
	TbothNS       *int64   `json:"tboth_ns"` // the two at once, neither waiting for the other
	Bubble        *float64 `json:"bubble"`   // 1 - max(tio, texec)/the run
	SamplesTioNS  []int64  `json:"samples_tio_ns,omitempty"`
	SamplesExecNS []int64  `json:"samples_texec_ns,omitempty"`
	SamplesBothNS []int64  `json:"samples_tboth_ns,omitempty"`

	Int8Share *float64 `json:"int8_share"` // of what the threads' peak would do in the run's time
	BF16Share *float64 `json:"bf16_share"`

	EnergyJ      *float64           `json:"energy_j"` // of a run
	TokensPerJ   *float64           `json:"tokens_per_j"`
	EnergySource string             `json:"energy_source"` // rapl, battery or unmeasured
	EnergyNote   string             `json:"energy_note"`
	EnergyBy     map[string]float64 `json:"energy_by_backend,omitempty"`

	Profile *Profile `json:"profile,omitempty"`
}

// Name is the test as llama-bench calls it.
func (r *Result) Name() string { return fmt.Sprintf("pp%d", r.Prompt) }

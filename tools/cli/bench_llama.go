package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A heldFlag is one of llama-bench's that nothing here depends on: values that say
// what holds anyway are taken, others refused.
type heldFlag struct {
	name, short string // --name, and what stands behind one dash; may be empty
	values      string // that hold, separated by blanks
	why         string // not others, and what to do instead
}

const (
	noGPU   = "no layer, expert, key or value is on a GPU"
	noMmap  = "weights are read past the page cache, never mapped or locked: --resident keeps them in memory, --memory a part"
	noHub   = "packages are folders: make one of a GGUF file or a checkpoint by estream pack"
	noQuant = "keys and values are bfloat16"
)

// heldFlags are llama-bench's flags of that kind, of its versions with --mmap and
// with --load-mode.
var heldFlags = []heldFlag{
	{"n-gpu-layers", "ngl", "0", noGPU},
	{"n-cpu-moe", "ncmoe", "0", noGPU},
	{"split-mode", "sm", "none", noGPU},
	{"main-gpu", "mg", "0", noGPU},
	{"no-kv-offload", "nkvo", "0 1", noGPU},
	{"no-op-offload", "nopo", "0 1", noGPU},
	{"tensor-split", "ts", "0", noGPU},
	{"no-host", "", "0", noGPU},
	{"fit-target", "fitt", "0", noGPU + ": --memory is the budget"},
	{"fit-ctx", "fitc", "0", noGPU + ": --memory is the budget"},
	{"device", "dev", "none auto", "--backend says what packages run on"},
	{"override-tensor", "ot", "", "--backend says what packages run on"},
	{"rpc", "rpc", "", "estream uses this machine alone"},
	{"list-devices", "", "", "estream doctor tells of the machine"},
	{"flash-attn", "fa", "1 on auto", "attention is always computed block by block"},
	{"cache-type-k", "ctk", "bf16", noQuant},
	{"cache-type-v", "ctv", "bf16", noQuant},
	{"load-mode", "lm", "auto dio", noMmap},
	{"lazy-mode", "lzm", "auto", noMmap},
	{"mmap", "mmp", "0", noMmap},
	{"direct-io", "dio", "1", noMmap},
	{"repack", "", "1", "weights are packed for the processor when a package is made"},
	{"embeddings", "embd", "0", "a test computes the logits of the last position"},
	{"poll", "", "50", "threads that wait do so awake for a fixed while, then sleep"},
	{"prio", "", "0", "use nice"},
	{"numa", "", "", "use numactl"},
	{"cpu-mask", "C", "0x0", "use taskset"},
	{"cpu-strict", "", "0", "use taskset"},
	{"hf-repo", "hf", "", noHub},
	{"hf-file", "hff", "", noHub},
	{"hf-token", "hft", "", noHub},
	{"offline", "", "true", noHub},
}

// llamaFlag is the flag of so many letters; nil: there is none.
func llamaFlag(short string) *heldFlag {
	i := slices.IndexFunc(heldFlags, func(f heldFlag) bool { return short != "" && short == f.short })
	if i < 0 {
		return nil
	}
	return &heldFlags[i]
}

// llamaFlags defines the held flags, which help does not list.
func (f *benchFlags) llamaFlags(fl *pflag.FlagSet) {
	f.llama = map[string]*[]string{}
	for _, h := range heldFlags {
		f.llama[h.name] = fl.StringSlice(h.name, nil, h.why)
		flag := fl.Lookup(h.name)
		flag.Hidden = true
		if h.name == "offline" || h.name == "list-devices" {
			flag.NoOptDefVal = "true"
		}
	}
}

// refuseLlama refuses held flags with values that do not hold.
func (f *benchFlags) refuseLlama() error {
	for _, h := range heldFlags {
		for _, v := range *f.llama[h.name] {
			held := strings.Fields(h.values)
			if slices.Contains(held, v) {
				continue
			}
			remedy := "leave it out"
			if len(held) > 0 {
				remedy += " or give " + strings.Join(held, " or ")
			}
			return usagef("--%s: %s: %s", strings.TrimSuffix(h.name+" "+v, " true"), h.why, remedy)
		}
	}
	return nil
}

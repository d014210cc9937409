package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"estream/ir"
	"estream/lower/host"
	"estream/runtime"
	"estream/runtime/tokenizer"
	"estream/tools/trace"
)

// runFlags are the flags of run, and of what else opens a package.
type runFlags struct {
	tokens, tokensFile, promptsFile, logits, output, memory, schedule string
	readers, banks, group, chunk, threads                             int
	asJSON, chat                                                      bool
	plan                                                              string // who picks the shape: auto or off; empty: nobody
	system                                                            string
	backend, source, readLimit, checksum, trace                       string
	tracer                                                            *trace.Writer // of trace, once it is begun; nil: none
	routing                                                           *routing      // of the package's calibration; nil: it is not looked at
	showLive                                                          bool
	live                                                              *live // once it is begun; nil: none
}

func (a *App) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PACKAGE [PROMPT]",
		Short: "Run a package on a prompt and show the likeliest next tokens",
		Long: `Run computes the logits of a prompt, or of several, and prints the five likeliest
next tokens with their probabilities, and what the run took in time and memory.
The prompt is text, which the package's tokenizer reads, or token ids.

The plan that it prints first: a layer's body runs over "chunk" rows at a time; Q
reads are in flight; the arena holds B groups of G experts, and two dense records.`,
		Example: `  estream run olmoe.estream "The capital of France is"
  estream run --memory 900MiB --json olmoe.estream "The capital of France is"
  estream run --chat --system "Answer yes or no." qwen3.estream "Is 7 a prime?"
  estream run --prompts-file prompts.txt -o logits.safetensors olmoe.estream
  estream run --tokens 510,5347,273 --logits all -o logits.safetensors olmoe.estream`,
		Args: args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.tokens, "tokens", "", "token ids instead of a prompt, separated by commas")
	fl.StringVar(&f.promptsFile, "prompts-file", "", "file of prompts, one a line, that run as one batch; at most 1 GiB")
	fl.BoolVar(&f.chat, "chat", false, "take each prompt as what a user says, and put it into the model's chat template")
	fl.StringVar(&f.system, "system", "", "with --chat, what the system says before")
	fl.StringVar(&f.tokensFile, "tokens-file", "", "file of token ids, one sequence a line; at most 1 GiB")
	fl.StringVar(&f.logits, "logits", "last", "positions whose logits are computed: last, all or none")
	fl.StringVarP(&f.output, "output", "o", "", "write logits [N,V] and offsets [B+1] to this safetensors file")
	f.shaping(fl, a)
	f.planning(fl)
	fl.StringVar(&f.trace, "trace", "", "write a timeline of reads, programs and waits to this JSON file, for ui.perfetto.dev")
	fl.BoolVar(&f.showLive, "live", false, "tell on stderr what the run is at: layer, banks, rate of reading, bubble and memory")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

// shaping are the flags that say how a package runs.
func (f *runFlags) shaping(fl *pflag.FlagSet, a *App) {
	fl.StringVar(&f.memory, "memory", "", "most resident memory of the process, such as 900MiB (default: a small arena)")
	f.scheduling(fl)
	fl.IntVar(&f.readers, "readers", 0, "reads in flight (default 2)")
	fl.IntVar(&f.banks, "banks", 0, "groups of experts in memory (default 4, or 3 of experts above 32 MiB)")
	fl.IntVar(&f.group, "group", 0, "experts a read (default: about 32 MiB)")
	fl.IntVar(&f.chunk, "chunk", 0, "rows of a layer's body at a time (default 512)")
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default: one a processor)")
	fl.StringVar(&f.backend, "backend", "host", "what the graphs run on: "+strings.Join(a.backendNames(), ", "))
	f.reading(fl, a)
}

// maxFlag bounds what a machine can have of each.
var maxFlag = map[string]int{"readers": 256, "banks": 1 << 16, "group": 1 << 16, "chunk": 1 << 20, "threads": 1024}

// open opens a package as the flags say.
func (a *App) open(ctx context.Context, dir string, f runFlags) (*runtime.Model, error) {
	o, err := a.prepare(f)
	if err == nil {
		err = a.shape(dir, f, &o)
	}
	if err != nil {
		return nil, err
	}
	f.routing.use(dir, &o)
	return runtime.Open(ctx, dir, o)
}

// prepare prepares the process to run packages as the flags say.
func (a *App) prepare(f runFlags) (o runtime.Options, err error) {
	if o, err = a.options(f); err != nil {
		return o, err
	}
	h := host.Options{Threads: o.Threads, Ops: a.HostOps}
	if f.tracer != nil {
		h.Trace, o.Trace, o.Events = f.tracer.Op, f.tracer.Pager, f.tracer.Event
	}
	f.live.watch(&o)
	b, err := a.choose(cmp.Or(f.backend, "host"))
	if err != nil {
		return o, err
	}
	b.use(&o, host.New(h))
	if o.Device != nil {
		if o.Inside, err = qnnInside(); err != nil {
			return o, err
		}
	}
	debug.SetGCPercent(25)                                 // garbage is no part of a memory plan
	goruntime.GOMAXPROCS(o.Threads + cmp.Or(o.Readers, 2)) // readers have processors of their own
	return o, nil
}

// options are those of the runtime that flags say, the host backend apart.
func (a *App) options(f runFlags) (o runtime.Options, err error) {
	for name, n := range map[string]int{"readers": f.readers, "banks": f.banks, "group": f.group, "chunk": f.chunk, "threads": f.threads} {
		if n < 0 || n > maxFlag[name] {
			return o, usagef("--%s=%d: want 0 (chosen) to %d", name, n, maxFlag[name])
		}
	}
	o = runtime.Options{Readers: f.readers, Banks: f.banks, Group: f.group, Chunk: f.chunk, Threads: cmp.Or(f.threads, goruntime.NumCPU()), Packings: a.foreign()}
	if f.memory != "" {
		if o.Memory, err = parseSize(f.memory); err != nil {
			return o, err
		}
		if _, err := strconv.ParseFloat(f.memory, 64); err == nil && o.Memory < 1<<20 {
			return o, usagef("--memory: %d bytes is too little: did you mean %sMiB?", o.Memory, f.memory)
		}
	}
	if o.Schedule, err = parseSchedule(f.schedule); err != nil {
		return o, err
	}
	if err := a.read(&o, f); err != nil {
		return o, err
	}
	o.Ops, err = ir.Core(a.Ops...)
	return o, err
}

func (a *App) run(ctx context.Context, f runFlags, args []string) (err error) {
	want, ok := map[string]runtime.Logits{"last": runtime.Last, "all": runtime.All, "none": runtime.None}[f.logits]
	if !ok {
		return usagef("unknown --logits %q: use last, all or none", f.logits)
	}
	if given := len(args) - 1 + count(f.tokens != "") + count(f.tokensFile != "") + count(f.promptsFile != ""); given != 1 {
		return usagef("give one of PROMPT, --tokens, --tokens-file and --prompts-file, got %d", given)
	}
	if f.chat && (f.tokens != "" || f.tokensFile != "") || f.system != "" && !f.chat {
		return usagef("--chat is for prompts of text, and --system for --chat")
	}
	out, err := newOutput("output", f.output, args[0])
	if err != nil {
		return err
	}
	defer out.discard()
	timeline, err := newTimeline(f.trace, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, timeline.close()) }()
	f.tracer = timeline.writer()
	if timeline != nil && timeline.out.same(out) {
		return usagef("--output and --trace name one file: %s", f.output)
	}
	if f.showLive {
		f.live = a.newLive()
	}
	f.routing = a.newRouting()
	m, err := a.open(ctx, args[0], f)
	if err != nil {
		return err
	}
	defer m.Close()
	tok, prompts, err := a.prompts(ctx, m, f, args[1:])
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what opening left behind is no part of the plan
	a.noteContext(m, prompts)
	for _, n := range m.Notes() {
		a.note("note: %s", n)
	}
	b := runtime.Batch{Prompts: prompts, Logits: want}
	plan, err := m.Plan(b)
	if err != nil {
		return err
	}
	a.note("plan: %s", plan)
	f.live.begin(len(m.Module().Layers), plan)
	res, err := m.Run(ctx, b)
	f.live.end()
	if err != nil {
		return err
	}
	for _, n := range f.routing.notes() {
		a.note("note: %s", n)
	}
	if err := out.write(res); err != nil {
		return err
	}
	if out == nil && want == runtime.All {
		a.note("note: logits of all positions are only written with -o")
	}
	if out != nil {
		a.note("logits of %d positions written to %s", len(res.Logits)/res.Vocab, f.output)
	}
	return a.report(f, m, tok, prompts, res)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// prompts returns the token ids to run, and the tokenizer where the package has one.
func (a *App) prompts(ctx context.Context, m *runtime.Model, f runFlags, text []string) (*tokenizer.Tokenizer, [][]int32, error) {
	tok, err := openTokenizer(m)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case f.tokens != "":
		ids, err := parseTokens(f.tokens)
		if err != nil {
			return nil, nil, usagef("--tokens: %w", err)
		}
		return tok, [][]int32{ids}, nil
	case f.tokensFile != "":
		prompts, err := readTokens(ctx, f.tokensFile)
		return tok, prompts, err
	case tok == nil:
		return nil, nil, fmt.Errorf("the package has no tokenizer.json: give token ids with --tokens")
	}
	if f.promptsFile != "" {
		if text, err = readLines(ctx, f.promptsFile); err != nil {
			return nil, nil, err
		}
	}
	say := func(text string) (string, error) { return text, nil }
	if f.chat {
		if say, err = openChat(m, f.system); err != nil {
			return nil, nil, err
		}
	}
	var prompts [][]int32
	for i, t := range text {
		t, err := say(t)
		var ids []int32
		if err == nil {
			ids, err = tok.Encode(t, !f.chat) // a chat template has its own special tokens
		}
		if err == nil && len(ids) == 0 {
			err = usagef("the prompt is empty")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		prompts = append(prompts, ids)
	}
	return tok, prompts, nil
}

// openTokenizer returns the package's tokenizer, nil where it has none.
func openTokenizer(m *runtime.Model) (*tokenizer.Tokenizer, error) {
	data, err := m.Companion("tokenizer.json")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return tokenizer.Parse(m.Path("tokenizer.json"), data)
}

// noteContext tells of prompts longer than the model was trained for.
func (a *App) noteContext(m *runtime.Model, prompts [][]int32) {
	var c struct {
		Max int `json:"max_position_embeddings"`
	}
	if json.Unmarshal(m.Manifest().Config, &c) != nil || c.Max <= 0 {
		return
	}
	for i, p := range prompts {
		if len(p) > c.Max {
			a.note("note: prompt %d has %d tokens, and the model was made for %d", i, len(p), c.Max)
		}
	}
}

// A candidate is one of the likeliest next tokens.
type candidate struct {
	ID    int32   `json:"id"`
	Text  string  `json:"text"`
	Prob  float64 `json:"prob"`
	Logit float32 `json:"logit"`
}

// likeliest returns the n most probable tokens by logits, ties to the lower id.
// Rows of the head beyond the tokenizer's ids are padding, and no token is likely there.
func likeliest(logits []float32, n int, tok *tokenizer.Tokenizer) []candidate {
	if tok != nil {
		logits = logits[:min(len(logits), max(tok.Size(), 1))]
	}
	var top []int32 // falling
	for i, x := range logits {
		at, _ := slices.BinarySearchFunc(top, x, func(id int32, x float32) int {
			if logits[id] >= x {
				return -1
			}
			return 1
		})
		if at < n {
			top = slices.Insert(top, at, int32(i))[:min(n, len(top)+1)]
		}
	}
	sum, most := 0.0, logits[top[0]]
	for _, x := range logits {
		sum += math.Exp(float64(x - most))
	}
	var out []candidate
	for _, id := range top {
		c := candidate{ID: id, Prob: math.Exp(float64(logits[id]-most)) / sum, Logit: logits[id]}
		if tok != nil {
			c.Text, _ = tok.Decode([]int32{id}) // an id the vocabulary lacks has no text
		}
		out = append(out, c)
	}
	return out
}

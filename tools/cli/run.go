package cli

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/spf13/cobra"

	"estream/runtime"
)

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
	out, err := newOutput(ctx, "output", f.output, args[0], f.promptsFile, f.tokensFile)
	if err != nil {
		return err
	}
	defer out.discard()
	timeline, err := newTimeline(ctx, f.trace, args[0], f.promptsFile, f.tokensFile)
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
	f.routing, f.once = a.newRouting(), true
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
	if err := out.logitsRoom(b, m.Vocab()); err != nil {
		return err
	}
	bar := a.ongoing(ctx)
	plan, err := m.PlanContext(bar.tells(ctx, "planning on "+f.backend), b) // for which a device may run graphs
	bar.end()
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
	a.noteDropped(res.Stats.Work)
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

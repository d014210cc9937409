package cli

import (
	"fmt"
	"time"

	"estream/runtime"
	"estream/runtime/tokenizer"
)

// report prints what a run gave and took.
func (a *App) report(f runFlags, m *runtime.Model, tok *tokenizer.Tokenizer, prompts [][]int32, res *runtime.Result) error {
	var top [][]candidate
	for i := range prompts {
		if end := int(res.Offsets[i+1]); end > int(res.Offsets[i]) {
			top = append(top, likeliest(res.Logits[(end-1)*res.Vocab:end*res.Vocab], 5, tok))
		}
	}
	ttft, peak := time.Since(a.began), runtime.PeakBytes()
	if f.asJSON {
		return a.printJSON(runJSON(prompts, top, res, ttft, peak))
	}
	for i, p := range prompts[:min(len(prompts), 10)] {
		if tok != nil {
			fmt.Fprintf(a.Stdout, "prompt  %s, %d tokens\n", promptText(tok, p), len(p))
		} else {
			fmt.Fprintf(a.Stdout, "prompt  %d tokens\n", len(p))
		}
		if i < len(top) {
			a.printTop(top[i])
		}
	}
	s, plan := res.Stats, res.Plan
	fmt.Fprintf(a.Stdout, "time    %.3f s to the first token from process start; %.3f s reading, %.3f s computing, bubble estimate %.1f %%\n",
		ttft.Seconds(), s.Busy.Seconds(), s.Compute.Seconds(), 100*s.BubbleEstimate())
	fmt.Fprintf(a.Stdout, "memory  peak %s, planned %s; arena %s, experts of one layer %s, of all %s\n",
		formatSize(peak), formatSize(plan.Bytes()), formatSize(plan.Geometry.Bytes()), formatSize(s.Layer), formatSize(s.Pool))
	a.printWork(s.Work)
	fmt.Fprintf(a.Stdout, "read    %s in %d reads, %s of it unneeded; Q=%d B=%d G=%d\n",
		formatSize(s.Bytes), s.Reads, formatSize(s.Wasted), plan.Readers, plan.Geometry.Banks, plan.Geometry.Group)
	if n, hit, missed := guesses(res); n > 0 {
		fmt.Fprintf(a.Stdout, "guessed %d experts before their routes were known, %d of them right; %d that were wanted were not guessed\n", n, hit, missed)
	}
	return nil
}

// guesses sums up how experts were guessed.
func guesses(res *runtime.Result) (n, hit, missed int) {
	for _, g := range res.Stats.Guesses {
		n, hit, missed = n+g.Guessed, hit+g.Hit, missed+g.Missed
	}
	return n, hit, missed
}

func (a *App) printTop(top []candidate) {
	for i, c := range top {
		label := ""
		if i == 0 {
			label = "next"
		}
		text := fmt.Sprintf("%q", c.Text)
		if c.Text == "" {
			text = fmt.Sprintf("token %d", c.ID)
		}
		fmt.Fprintf(a.Stdout, "%-7s %5.1f %%  %s\n", label, 100*c.Prob, text)
	}
}

func runJSON(prompts [][]int32, top [][]candidate, res *runtime.Result, ttft time.Duration, peak int64) map[string]any {
	s, g := res.Stats, res.Plan.Geometry
	guessed, hits, misses := guesses(res)
	return map[string]any{
		"schedule": res.Plan.Schedule.String(), "guessed": guessed, "guess_hits": hits, "guess_misses": misses,
		"prompt_tokens": prompts, "top_tokens": top,
		"ttft_s": ttft.Seconds(), "run_s": s.Total.Seconds(), "tio_s": s.Busy.Seconds(), "texec_s": s.Compute.Seconds(), "bubble_estimate": s.BubbleEstimate(),
		"bytes_read": s.Bytes, "bytes_wasted": s.Wasted, "reads": s.Reads,
		"work": workJSON(s.Work), "pool_bytes": s.Pool, "layer_bytes": s.Layer, "arena_bytes": g.Bytes(), "plan_bytes": res.Plan.Bytes(), "peak_bytes": peak,
		"q": res.Plan.Readers, "b": g.Banks, "g": g.Group, "chunk": res.Plan.Chunk,
	}
}

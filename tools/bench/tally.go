package bench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"estream/passes"
	"estream/runtime"
	"estream/tools/energy"
)

// A tally sums the repetitions of a test up.
type tally struct {
	*Result
	apart resident
	costs *collector  // of all repetitions
	work  passes.Work // of a repetition on a device, the same in each

	read, compute, wait, bytes, wasted, bubble float64 // sums
	joules                                     float64
	busy                                       map[string]time.Duration // of all repetitions, by backend
}

func (t *tally) add(res *runtime.Result, used energy.Reading, busy map[string]time.Duration, apart apartTimes) {
	s := res.Stats
	t.planned(res.Plan)
	t.work = runtime.Total(s.Work)
	t.SamplesNS = append(t.SamplesNS, s.Total.Nanoseconds())
	t.SamplesTS = append(t.SamplesTS, float64(t.Prompt)/s.Total.Seconds())
	t.read += float64(s.Busy)
	t.compute += float64(s.Compute)
	t.wait += float64(s.Wait)
	t.bytes += float64(s.Bytes)
	t.wasted += float64(s.Wasted)
	t.bubble += s.BubbleEstimate()
	t.Guessed, t.GuessHits, t.GuessMisses = 0, 0, 0 // the same in each repetition
	for _, g := range s.Guesses {
		t.Guessed, t.GuessHits, t.GuessMisses = t.Guessed+g.Guessed, t.GuessHits+g.Hit, t.GuessMisses+g.Missed
	}
	if apart.compute > 0 {
		t.SamplesTioNS = append(t.SamplesTioNS, apart.reads.Nanoseconds())
		t.SamplesExecNS = append(t.SamplesExecNS, apart.compute.Nanoseconds())
		t.SamplesBothNS = append(t.SamplesBothNS, apart.both.Nanoseconds())
	}
	if t.EnergySource == "" || used.Source == energy.Unmeasured {
		t.EnergySource, t.EnergyNote = used.Source, used.Note
	}
	t.joules += used.Joules
	if t.busy == nil {
		t.busy = map[string]time.Duration{}
	}
	for name, d := range busy {
		t.busy[name] += d
	}
}

// sum fills the result in.
func (t *tally) sum(s *session) {
	n := float64(len(t.SamplesNS))
	if n == 0 {
		return
	}
	avg, dev := spread(t.SamplesNS)
	t.AvgNS, t.StddevNS = int64(avg), int64(dev)
	t.AvgTS, t.StddevTS = spread(t.SamplesTS)
	t.ReadNS, t.ComputeNS, t.WaitNS = int64(t.read/n), int64(t.compute/n), int64(t.wait/n)
	t.BytesRead, t.BytesWasted, t.BubbleEstimate = int64(t.bytes/n), int64(t.wasted/n), t.bubble/n
	if len(t.SamplesTioNS) > 0 {
		tio, texec, both := median(t.SamplesTioNS), median(t.SamplesExecNS), median(t.SamplesBothNS)
		bubble := 1 - float64(max(tio, texec))/float64(median(t.SamplesNS))
		t.TioNS, t.TexecNS, t.TbothNS, t.Bubble = &tio, &texec, &both, &bubble
	}
	if t.EnergySource != energy.Unmeasured && t.joules > 0 {
		joules, tokens := t.joules/n, n*float64(t.Prompt)/t.joules
		t.EnergyJ, t.TokensPerJ, t.EnergyBy = &joules, &tokens, energy.Share(joules, t.busy)
	}
	work := t.costs.work()
	t.Int8Share = share(float64(work.Int8)/n, avg, s.Peaks.Int8, s.threads)
	t.BF16Share = share(float64(work.BF16)/n, avg, cmp.Or(s.Peaks.BF16, s.Peaks.F32), s.threads)
	if s.Profile {
		t.Result.Profile = t.costs.profile(s.threads, s.Peaks)
	}
}

// share is the part of a peak, in GOPS of a thread, that so many multiply-adds in
// so many nanoseconds are; nil where the peak is not known.
func share(products, ns, peak float64, threads int) *float64 {
	if peak <= 0 || ns <= 0 {
		return nil
	}
	x := 2 * products / ns / (peak * float64(threads))
	return &x
}

// spread is the mean and the standard deviation of samples, that of one being 0.
func spread[N int64 | float64](samples []N) (mean, deviation float64) {
	for _, x := range samples {
		mean += float64(x) / float64(len(samples))
	}
	if len(samples) < 2 {
		return mean, 0
	}
	for _, x := range samples {
		deviation += (float64(x) - mean) * (float64(x) - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(samples)-1))
}

// median is the middle sample, or the mean of the two in the middle.
func median(samples []int64) int64 {
	s := slices.Sorted(slices.Values(samples))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

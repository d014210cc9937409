package simulate

import (
	"slices"
	"time"
)

// A Disk says how long reads take. Reads stand in line for its channel, which serves one after another; what a read takes
// beside that overlaps with others, so that few or small reads in flight do not reach Rate.
type Disk struct {
	Rate    float64       // bytes a second of the channel; 0: it takes no time
	Latency time.Duration // before a read is in line
	Check   float64       // bytes a second of a reader's own work on what it has read, such as checksums; 0: none
	Burst   time.Duration // of the channel's time that is saved up while nobody reads, as limits on a rate do; 0: none
	Peak    float64       // bytes a second of a read that passes on what was saved up; 0: it takes no time

	Delay func(Span) time.Duration `json:"-"` // that a read takes beside; nil: none
}

// Throughput is the bytes a second of so many readers that each read so many bytes at a time.
func (d Disk) Throughput(readers int, bytes int64) float64 {
	beside := d.Latency + d.own(bytes)
	one := beside + max(over(bytes, d.Peak), over(bytes, d.Rate)-min(beside, d.Burst))
	if one <= 0 {
		return 0
	}
	rate := float64(readers) * float64(bytes) / one.Seconds()
	if d.Rate > 0 {
		rate = min(rate, d.Rate)
	}
	return rate
}

func (d Disk) own(bytes int64) time.Duration { return over(bytes, d.Check) }

// over is how long bytes take at a rate.
func over(bytes int64, rate float64) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) / rate * 1e9)
}

// A line is a disk at work: when its channel is free again.
type line struct {
	Disk
	free time.Duration // in the past: time is saved up
}

// read is when a read ends that begins now.
func (l *line) read(now time.Duration, r Span) time.Duration {
	begun := now + l.Latency
	l.free = max(l.free, begun-l.Burst) + over(r.Bytes, l.Rate)
	end := max(l.free, begun+over(r.Bytes, l.Peak)) + l.own(r.Bytes)
	if l.Delay != nil {
		end += l.Delay(r)
	}
	return end
}

// replay is how long the pass's reads take by themselves, what the consumer fetched beside the readers.
func (p *pass) replay() time.Duration {
	free := make([]time.Duration, p.c.Readers+max(1, p.c.Depth)) // when each reader is, and each of the consumer's
	l := line{Disk: p.c.Disk}
	for _, r := range p.reads {
		idle := free[:p.c.Readers]
		if r.Stage < 0 {
			idle = free[p.c.Readers:]
		}
		next := slices.Index(idle, slices.Min(idle))
		idle[next] = l.read(idle[next], r)
	}
	return slices.Max(free)
}

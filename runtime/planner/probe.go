package planner

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"estream/pager"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/pager/simulate"
)

// Reads that are measured: of at most so many bytes, for so long, in so many rounds.
const (
	mostRead = 16 << 20
	readFor  = 30 * time.Millisecond
	rounds   = 2
)

// measureDisk reads the larger of the package's weight files at random places, as readers do: an expert, four, and a block
// of the embedding table at a time.
func measureDisk(ctx context.Context, path func(name string) string, open func(string) (pager.Source, error), stride int64) (d simulate.Disk, err error) {
	if open == nil {
		open = func(path string) (pager.Source, error) { return pager.OpenFile(path) }
	}
	var src pager.Source
	for _, name := range []string{layout.ExpertsName, layout.DenseName} {
		f, err := open(path(name))
		if err != nil {
			return d, err
		}
		defer f.Close()
		if src == nil || f.Size() > src.Size() {
			src = f
		}
	}
	mem, free, err := pager.Pages(4 * mostRead)
	if err != nil {
		return d, err
	}
	defer free()
	clear(mem)
	size := func(n int64) int64 { return min(n, mostRead, src.Size()) / src.Align() * src.Align() }
	var rates []rate
	begun := time.Now()
	for i := range 3 * rounds { // in turn, so that what disturbs some of them disturbs each kind
		if i >= 3 && time.Since(begun) > 2*tooLong {
			break
		}
		n := size([]int64{stride, 4 * stride, layout.BlockSize}[i%3])
		for readers := 1; readers <= 4 && n > 0; readers++ {
			perS, err := measureRate(ctx, src, mem, readers, n)
			if err != nil {
				return d, err
			}
			rates = append(rates, rate{readers, n, perS})
		}
	}
	for i := range 4 {
		begun := time.Now()
		crc32c.Checksum(mem[i*mostRead:][:mostRead])
		d.Check = max(d.Check, mostRead/time.Since(begun).Seconds())
	}
	d = fitDisk(rates, d)
	if err := measureBurst(ctx, src, mem[:min(2*mostRead, src.Size())/src.Align()*src.Align()], &d); err != nil {
		return d, err
	}
	return fitDisk(rates, d), nil
}

func measureRate(ctx context.Context, src pager.Source, mem []byte, readers int, size int64) (perS float64, err error) {
	var total atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i := range readers {
		rng, p := rand.New(rand.NewPCG(uint64(i), uint64(size))), mem[int64(i)*mostRead:][:size]
		g.Go(func() error {
			for once := true; once || time.Since(begun) < readFor; once = false {
				if err := src.ReadAt(ctx, p, place(rng, src, size)); err != nil {
					return err
				}
				crc32c.Checksum(p)
				total.Add(size)
			}
			return nil
		})
	}
	err = g.Wait()
	return float64(total.Load()) / time.Since(begun).Seconds(), err
}

// place is where size bytes may be read.
func place(rng *rand.Rand, src pager.Source, size int64) int64 {
	return rng.Int64N((src.Size()-size)/src.Align()+1) * src.Align()
}

// measureBurst finds what a source saves up while nobody reads, if its reads after a pause are faster than its rate is:
// such are limits that let through so many bytes a second. What a short read is faster by says how fast the source is
// below the limit, what a long one is faster by how much is saved.
func measureBurst(ctx context.Context, src pager.Source, mem []byte, d *simulate.Disk) error {
	rng := rand.New(rand.NewPCG(5, 5))
	took := func(p []byte) (time.Duration, error) { // the least of some times
		least := time.Hour
		for range 3 {
			time.Sleep(20 * time.Millisecond)
			begun := time.Now()
			if err := src.ReadAt(ctx, p, place(rng, src, int64(len(p)))); err != nil {
				return 0, err
			}
			least = min(least, time.Since(begun))
		}
		return least, nil
	}
	short := mem[:int64(len(mem))/32/src.Align()*src.Align()]
	if len(short) == 0 || d.Rate == 0 {
		return nil
	}
	quick, err := took(short)
	if err != nil {
		return err
	}
	slow, err := took(mem)
	if err != nil {
		return err
	}
	saved := time.Duration(float64(len(mem))/d.Rate*1e9) - slow
	peak := float64(len(short)) / max(quick, time.Microsecond).Seconds()
	if saved > time.Millisecond/2 && peak > 1.2*d.Rate {
		d.Burst, d.Peak = saved, peak
	}
	return nil
}

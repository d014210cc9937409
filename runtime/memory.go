package runtime

import (
	"context"
	"errors"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"

	"estream/lower"
	"estream/pager"
)

// memories are the allocations of a model, kept from run to run by purpose.
type memories map[string]lower.Mem

// get returns zeroed or reused memory of exactly n bytes for a purpose.
func (ms *memories) get(on lower.Compiled, purpose string, n, align int64) (lower.Mem, error) {
	if old := (*ms)[purpose]; old != nil {
		if int64(len(old.Bytes())) == n {
			return old, nil
		}
		delete(*ms, purpose)
		if err := old.Free(); err != nil {
			return nil, err
		}
	}
	mem, err := on.Alloc(n, align)
	if err != nil {
		return nil, err
	}
	if *ms == nil {
		*ms = memories{}
	}
	(*ms)[purpose] = mem
	return mem, nil
}

// measureProgram finds what of the resident memory is not the model's. What moves
// by less than half the reserve is the heap's breathing, which is not to move pins.
func (m *Model) measureProgram() {
	now := max(0, residentBytes()-m.resident())
	if slack := reserve() / 2; m.program == 0 || now > m.program+slack || now < m.program-8*slack {
		m.program = now
	}
}

// resident is what the model's own memory takes of the process's.
func (m *Model) resident() int64 {
	n := m.pins.resident() + m.routers.resident()
	for _, mem := range m.mem {
		n += pager.Resident(mem.Bytes())
	}
	for _, k := range m.keepers() {
		if mem := k.Kept(); mem != nil {
			n += pager.Resident(mem.Bytes())
		}
	}
	if d, ok := m.device.(lazy); ok {
		if mem := d.Working(); mem != nil {
			n += pager.Resident(mem.Bytes())
		}
	}
	return n
}

// A lazy device has working memory that all calls share, which Footprint counts, and
// graphs that take memory when they first run: Ready runs those that a batch may need,
// as far as that is quick, and Pending is about what is still to come.
type lazy interface {
	Working() lower.Mem
	Ready(ctx context.Context, tokens int) error
	Pending(tokens int) int64
}

// pending makes the device ready for so many tokens, which may take seconds, and returns
// what it may still take.
func (m *Model) pending(ctx context.Context, tokens int) (int64, error) {
	d, ok := m.device.(lazy)
	if !ok {
		return 0, nil
	}
	if err := d.Ready(ctx, tokens); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, err
	}
	return d.Pending(tokens), nil
}

// keepers are what runs programs and keeps working memory.
func (m *Model) keepers() []lower.Keeper {
	var out []lower.Keeper
	for _, c := range []lower.Compiled{m.host, m.device} {
		if k, ok := c.(lower.Keeper); ok {
			out = append(out, k)
		}
	}
	return out
}

// settle frees what the run before took otherwise than this plan does.
func (m *Model) settle(p Plan) error {
	if m.last.alike(p) {
		return nil
	}
	m.last = p
	errs := []error{m.mem.free()}
	for _, k := range m.keepers() {
		errs = append(errs, k.Drop())
	}
	return errors.Join(errs...)
}

// alike reports whether two plans differ in the program and in what stays at most.
func (p Plan) alike(o Plan) bool {
	return p.Schedule == o.Schedule && p.Tokens == o.Tokens && p.Sequences == o.Sequences && p.Rows == o.Rows && p.Chunk == o.Chunk && p.Head == o.Head &&
		p.collect == o.collect && p.Geometry == o.Geometry
}

// reserve is for what the Go heap grows by during a run: the least that the
// collector lets it grow to before it begins, which GOGC sets.
func reserve() int64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return int64(min(max(s[0].Value.Uint64(), 25), 400)) * (4 << 20) / 100
}

func (ms *memories) free() error {
	var errs []error
	for _, m := range *ms {
		errs = append(errs, m.Free())
	}
	*ms = nil
	return errors.Join(errs...)
}

// residentBytes is what the process has in memory now, 0 where the system does
// not tell; PeakBytes the most it ever had.
func residentBytes() int64 { return procStatus("VmRSS:") }

// PeakBytes returns the largest resident size that the process has had, 0 where
// the system does not tell (Linux and Android do).
func PeakBytes() int64 { return procStatus("VmHWM:") }

func procStatus(field string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if v, ok := strings.CutPrefix(line, field); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kb * 1024
		}
	}
	return 0
}

package static_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/static"
	"estream/passes"
)

// A lazy recorder is a device whose graphs take memory when they first run.
type lazy struct {
	*recorder
	patience time.Duration
}

func (l lazy) Patience() time.Duration { return l.patience }

// A readied is what a compiled module of a lazy device has beside lower.Compiled.
type readied interface {
	Working() lower.Mem
	Ready(ctx context.Context, tokens int) error
	Pending(tokens int) int64
}

// TestReady: what a batch may need runs once, small tiers first, on zeros.
func TestReady(t *testing.T) {
	const first = 2 << 20
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(tail+body("f32", 0), ops)
	require.NoError(t, err)
	for _, c := range []struct {
		name     string
		patience time.Duration
		tokens   int
		ran      []string
		pending  int64 // bytes of inputs and outputs of
		tiers    int64 // that are still to run
	}{
		{"one token", time.Hour, 1, []string{"c0.tail@T2", "c0.body@T2,S4"}, 0, 0},
		{"the larger of T", time.Hour, 3, []string{"c0.tail@T2", "c0.tail@T4", "c0.body@T2,S4", "c0.body@T4,S4"}, 0, 0},
		{"more than any tier", time.Hour, 100, []string{"c0.tail@T2", "c0.tail@T4", "c0.body@T2,S4", "c0.body@T2,S8", "c0.body@T4,S4", "c0.body@T4,S8"}, 0, 0},
		{"no patience", 0, 1, nil, (2 + 7) * 128, 2},
		{"little patience", 1, 100, []string{"c0.tail@T2", "c0.tail@T4", "c0.body@T2,S4"}, (7 + 7 + 8) * 128, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := lazy{&recorder{}, c.patience}
			made, err := static.New(d, passes.Tiers{}).Compile(t.Context(), m, packing())
			require.NoError(t, err)
			x := made.(readied)
			require.NotNil(t, x.Working())
			require.NoError(t, x.Ready(t.Context(), c.tokens))
			ran := func() (graphs []string) {
				for line := range strings.Lines(d.log.String()) {
					if !strings.HasPrefix(line, " ") {
						graphs = append(graphs, strings.TrimSpace(line))
					}
				}
				return graphs
			}
			require.Equal(t, c.ran, ran())
			require.Equal(t, c.pending+c.tiers*first, x.Pending(c.tokens))
			require.NoError(t, x.Ready(t.Context(), c.tokens))
			require.Equal(t, c.ran, ran(), "a second time")
			require.NoError(t, made.Close())
			require.Zero(t, d.live, "memories and graphs that are left")
		})
	}
	d := lazy{&recorder{fail: 1}, time.Hour}
	made, err := static.New(d, passes.Tiers{}).Compile(t.Context(), m, packing())
	require.NoError(t, err)
	require.EqualError(t, made.(readied).Ready(t.Context(), 1), "dev: graph c0.tail@T2: on zeros: tier c0.tail@T2: the device is gone")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	require.ErrorIs(t, made.(readied).Ready(stopped, 1), context.Canceled)
	require.NoError(t, made.Close())
	require.Zero(t, d.live, "memories and graphs that are left")

	made, err = compile(t, &recorder{}, tail)
	require.NoError(t, err)
	require.NoError(t, made.(readied).Ready(t.Context(), 1))
	require.Zero(t, made.(readied).Pending(1), "a device that is not lazy")
	require.NoError(t, made.Close())
}

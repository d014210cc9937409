package planner

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
)

// A flash is a source of zeros that takes its time; what several read overlaps.
type flash struct{ perS float64 }

func (f flash) ReadAt(_ context.Context, p []byte, _ int64) error {
	time.Sleep(time.Duration(float64(len(p)) / f.perS * 1e9))
	return nil
}
func (flash) Size() int64  { return 200 << 20 }
func (flash) Align() int64 { return 4096 }
func (flash) Name() string { return "flash" }
func (flash) Close() error { return nil }

// What a limited source saves up is found, and none where nothing is saved, on a clock that only reads move.
func TestMeasureDisk(t *testing.T) {
	for _, limit := range []float64{0, 1e9} {
		synctest.Test(t, func(t *testing.T) {
			open := func(string) (pager.Source, error) {
				if limit == 0 {
					return flash{2e9}, nil
				}
				r, err := pager.NewRate(limit, 0)
				return pager.Limit(flash{2e9}, r), err
			}
			d, err := measureDisk(t.Context(), strings.Clone, open, 3<<20)
			require.NoError(t, err)
			if limit == 0 {
				require.Zero(t, d.Burst, "%+v", d)
				return
			}
			require.InEpsilon(t, limit, d.Rate, 0.03, "%+v", d)
			require.InDelta(t, 5e-3, d.Burst.Seconds(), 1e-3, "%+v", d)
			require.InEpsilon(t, 2e9, d.Peak, 0.05, "%+v", d)
		})
	}
}

package runtime_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/pagertest"
	"estream/runtime"
)

// TestChecksumPolicies turns a bit of each kind of record, for good, before the first run of a model or after it: which
// policy finds out, and when.
func TestChecksumPolicies(t *testing.T) {
	f := newFaulty(t)
	for policy, finds := range map[pager.Policy][2]bool{pager.Always: {true, true}, pager.First: {true, false}, pager.Off: {false, false}} {
		for _, p := range f.places {
			m, bad := f.open(t, runtime.Options{Checksum: policy, Schedule: pager.AfterRouting}, p.file)
			turned := pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: p.at, Times: -1}
			for healthy, want := range finds {
				if healthy == 1 {
					bad.Set()
					requireBits(t, f.want, run(t, m, f.batch).Logits, "%v, %s as it was", policy, p.name)
				}
				bad.Set(turned)
				_, err := m.Run(t.Context(), f.batch)
				require.Equal(t, want, errors.Is(err, pager.ErrChecksum), "%v, %s, %d runs before: %v", policy, p.name, healthy, err)
			}
		}
	}
}

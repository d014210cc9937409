package static_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
)

// preparing is a device that keeps the names of the graphs that it prepared.
type preparing struct {
	*lowertest.NPU
	keeps    bool
	prepared int
	refused  error
}

func (d *preparing) Prepare(_ context.Context, gs []*ir.Graph, _ lower.Packing) ([]byte, error) {
	d.prepared++
	if !d.keeps {
		return nil, d.refused
	}
	return []byte(names(gs)), d.refused
}

func (d *preparing) Load(ctx context.Context, gs []*ir.Graph, p lower.Packing, artifact []byte) (es []static.Executable, err error) {
	if !bytes.Equal(artifact, []byte(names(gs))) {
		return nil, errors.New("made for other graphs")
	}
	for _, g := range gs {
		e, err := d.Compile(ctx, g, p)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
	}
	return es, nil
}

func (d *preparing) Target() (arch, sdk string, err error) { return "v1", "2", nil }

func (d *preparing) Fits(arch, sdk string) error {
	if arch != "v1" {
		return errors.New("made for " + arch + ", the device is v1")
	}
	return nil
}

func names(gs []*ir.Graph) string {
	var list []string
	for _, g := range gs {
		list = append(list, g.Name)
	}
	return strings.Join(list, "\n")
}

const tiered = `
graph g on npu
  %1:x = input : f32[T,4]
  %2 = silu %1 : f32[T,4]
  return %2

graph g@T1 on npu
  %1:x = input : f32[1,4]
  %2 = silu %1 : f32[1,4]
  return %2

graph g@T4 on npu
  %1:x = input : f32[4,4]
  %2 = silu %1 : f32[4,4]
  return %2
`

// A device that prepares is asked once for all graphs; what it keeps is the
// artifact, and loads without preparing.
func TestPrepare(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(tiered, ops)
	require.NoError(t, err)
	d := &preparing{NPU: lowertest.NewNPU(), keeps: true}
	for _, g := range m.Graphs {
		g.On = d.Name()
	}
	b := static.New(d, passes.Tiers{})
	p := b.Packings()[0]
	closed := func(c lower.Compiled, err error) []byte {
		t.Helper()
		require.NoError(t, err)
		_, err = c.Program("g")
		require.NoError(t, err)
		kept, err := c.Artifact()
		require.NoError(t, err)
		require.NoError(t, c.Close())
		return kept
	}
	kept := closed(b.Compile(t.Context(), m, p))
	require.Equal(t, "g@T1\ng@T4", string(kept))
	require.Equal(t, kept, closed(b.Load(t.Context(), m, p, kept)))
	require.Equal(t, 1, d.prepared)
	_, err = b.Load(t.Context(), m, p, []byte("old"))
	require.EqualError(t, err, "made for other graphs")
	arch, sdk, err := b.ArtifactTarget()
	require.NoError(t, err)
	require.Equal(t, "v1 2", arch+" "+sdk)
	require.NoError(t, b.ArtifactFits("v1", "1"))
	require.EqualError(t, b.ArtifactFits("v2", "1"), "made for v2, the device is v1")

	d.keeps = false
	require.Nil(t, closed(b.Compile(t.Context(), m, p)))
	d.refused = errors.New("no")
	_, err = b.Compile(t.Context(), m, p)
	require.EqualError(t, err, "no")

	plain := static.New(d.NPU, passes.Tiers{})
	_, err = plain.Load(t.Context(), m, p, kept)
	require.ErrorIs(t, err, lower.ErrUnsupported)
	require.ErrorIs(t, plain.ArtifactFits("v1", "2"), lower.ErrUnsupported)
	_, _, err = plain.ArtifactTarget()
	require.EqualError(t, err, d.Name()+" keeps no artifacts: compile the package's module: unsupported")
	require.Zero(t, d.Live())
}

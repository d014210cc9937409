package pack

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint/checkpointtest"
	"estream/pager/layout"
)

// A package says which checkpoint it comes from, and a copy of that, elsewhere and
// of another time, gives the same package.
func TestProvenance(t *testing.T) {
	t.Parallel()
	c := smallToy()
	from := c.write(t)
	o := options(t, "w4")
	o.Provenance = []layout.KeyValue{{Key: "source", Value: "a toy"}}
	dir, _ := packed(t, from, o)
	info, err := os.Stat(filepath.Join(from, "model.safetensors"))
	require.NoError(t, err)
	provenance := load(t, dir, o.Packing).man.Provenance
	require.Len(t, provenance, 3)
	require.Equal(t, o.Provenance[0], provenance[0])
	require.Equal(t, "checkpoint", provenance[1].Key)
	require.Regexp(t, `^[0-9a-f]{16} \(hash of config.json, file names, sizes and tensors\)$`, provenance[1].Value)
	require.Equal(t, layout.KeyValue{Key: "weights", Value: fmt.Sprintf("model.safetensors, %d bytes", info.Size())}, provenance[2])

	elsewhere := t.TempDir()
	require.NoError(t, os.CopyFS(elsewhere, os.DirFS(from)))
	require.NoError(t, os.Chtimes(filepath.Join(elsewhere, "model.safetensors"), time.Time{}, info.ModTime().Add(time.Hour)))
	again, _ := packed(t, elsewhere, o)
	requireSame(t, dir, again)

	c.change = func(ts map[string]checkpointtest.Tensor) {
		ts["model.norm.weight"] = checkpointtest.F32([]int{c.hidden}, values("model.norm.weight", c.hidden)...)
	}
	other, _ := packed(t, c.write(t), o)
	require.NotEqual(t, provenance[1].Value, load(t, other, o.Packing).man.Provenance[1].Value, "another type of tensor")
}

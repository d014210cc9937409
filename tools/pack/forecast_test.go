package pack

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
	"estream/models/checkpoint"
	"estream/pager/layout"
)

// A plan tells the files that a conversion writes to the byte, and writes nothing.
// Its census is that of the checkpoint, and the finished package's is the same.
func TestPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, encoding string
		experts, taken int64 // of a layer, and of those a token's
		tied           bool
	}{
		{"../../testdata/olmoe", "w4", 8, 3, false},
		{"../../testdata/lfm2", "w8", 8, 2, true},
		{"../../testdata/deepseek", "w4g32", 8, 3, false},
		{"../../testdata/mixtral", "f32", 8, 2, false},
		{"../../testdata/gguf/qwen3_moe-tiny-Q4_0.gguf", "w4full", 8, 3, false},
		{"../../testdata/trained-small", "w4", 16, 4, false},
	} {
		o := formatOptions(t, c.encoding)
		dir := filepath.Join(t.TempDir(), "pkg")
		plan, err := Plan(t.Context(), c.from, o)
		require.NoError(t, err, c.from)
		require.NoDirExists(t, dir)
		_, err = Run(t.Context(), c.from, dir, o)
		require.NoError(t, err, c.from)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		var files []layout.FileSum
		for _, e := range entries {
			st, err := e.Info()
			require.NoError(t, err)
			files = append(files, layout.FileSum{Name: e.Name(), Size: st.Size()})
		}
		require.Equal(t, files, plan.Files, c.from)

		all, experts := elements(t, c.from)
		require.Equal(t, []int64{all, experts, all - experts + experts*c.taken/c.experts}, []int64{plan.Params, plan.Experts, plan.Active}, c.from)
		man := load(t, dir, o.Packing).man
		ops, err := ir.Core()
		require.NoError(t, err)
		module, err := ir.Parse(man.Module, ops)
		require.NoError(t, err)
		again, err := Count(module, o.Packing, int(man.Rows[0].Rows), table(t, man.Family), c.tied)
		require.NoError(t, err)
		require.Equal(t, plan.Census, *again, c.from)

		stored := int64(0)
		for _, k := range plan.Kinds {
			stored += k.Values
		}
		require.GreaterOrEqual(t, stored, plan.Params, c.from)
	}
}

var (
	ofExperts = regexp.MustCompile(`experts\.\d|_exps\.`)
	isBuffer  = regexp.MustCompile(`expert_bias|exp_probs_b`)
)

// elements counts the parameters of a checkpoint, and those of experts.
func elements(t testing.TB, path string) (all, experts int64) {
	t.Helper()
	c, err := checkpoint.Open(path, checkpoint.Options{}, formatOptions(t, "w4").Formats...)
	require.NoError(t, err)
	defer c.Close()
	for _, x := range c.Tensors() {
		n := int64(1)
		for _, d := range x.Shape {
			n *= int64(d)
		}
		switch {
		case isBuffer.MatchString(x.Name):
			continue
		case ofExperts.MatchString(x.Name):
			experts += n
		}
		all += n
	}
	return all, experts
}

func table(t testing.TB, family string) models.Weights {
	t.Helper()
	for _, f := range formatOptions(t, "w4").Families {
		if f.Name == family {
			return f.Weights
		}
	}
	t.Fatalf("no family %s", family)
	return nil
}

// What Run refuses before it writes, a plan refuses.
func TestPlanRefuses(t *testing.T) {
	from := smallToy().write(t)
	o := options(t, "w4full")
	o.Packing.Name, o.Packing.Size = "none", func(x ir.Type) (int64, error) {
		_, err := hostPacking().Size(ir.Tensor(ir.I32))
		return 0, err
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "nowhere"), from} {
		_, err := Plan(t.Context(), path, o)
		_, want := Run(t.Context(), path, filepath.Join(t.TempDir(), "pkg"), o)
		require.Error(t, want)
		require.EqualError(t, err, want.Error())
		require.True(t, strings.HasPrefix(err.Error(), "checkpoint "+path+": "), err)
	}
}

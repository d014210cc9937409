package qnn_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/qnn"
	"estream/lower/qnn/native"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// child is this test as the process that prepares graphs.
func child() native.Child { return native.Child{Command: []string{os.Args[0], "qnn-child"}} }

// A child of the reference library shows that graphs can be made; nothing is kept.
func TestChild(t *testing.T) {
	d := qnn.CPU(qnn.Options{Folder: libraries(t, "libQnnCpu.so"), Child: child()})
	kept, err := d.Prepare(t.Context(), []*ir.Graph{parse(t, productText)}, qnn.Packing())
	require.NoError(t, err)
	require.Nil(t, kept)
	_, err = d.Load(t.Context(), nil, qnn.Packing(), []byte{1})
	require.EqualError(t, err, "qnn-cpu has no context binaries: unsupported")
	_, _, err = d.Target()
	require.ErrorIs(t, err, lower.ErrUnsupported)
}

var small = passes.Tiers{T: []int{16}, S: []int{16}, R: []int{2, 8}}

// prepared is a device of the emulation whose graphs a child prepares.
func prepared(t testing.TB, soc string) *qnn.Device { return preparedAs(t, soc, false) }

func preparedAs(t testing.TB, soc string, whole bool) *qnn.Device {
	t.Helper()
	d := qnn.HTP(qnn.Options{Folder: libraries(t, "libQnnHtp.so"), SoC: soc, Whole: whole, Child: child()})
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// artifactOf compiles a package's graphs and returns what is kept of them.
func artifactOf(t testing.TB, dir string, d *qnn.Device) []byte {
	t.Helper()
	b := static.New(d, small)
	m := opened(t, dir, runtime.Options{Packings: []lower.Packing{qnn.Packing()}})
	ops, err := ir.Core()
	require.NoError(t, err)
	module, err := ir.Parse(m.Manifest().Module, ops)
	require.NoError(t, err)
	require.NoError(t, passes.Run(module, passes.Open(b.Target(host.New(host.Options{}))), nil))
	c, err := b.Compile(t.Context(), module, qnn.Packing())
	require.NoError(t, err)
	artifact, err := c.Artifact()
	require.NoError(t, err)
	require.NoError(t, c.Close())
	return artifact
}

// loading is a device whose graphs come from an artifact.
type loading struct {
	*static.Backend
	t        testing.TB
	artifact []byte
}

func (l loading) Compile(_ context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	return l.Load(l.t.Context(), m, p, l.artifact)
}

const artifactVariable = "QNN_TEST_ARTIFACT"

// TestLoaded runs a package from the artifact that another process gives it, if one
// does: see TestArtifacts.
func TestLoaded(t *testing.T) {
	told := strings.Split(os.Getenv(artifactVariable), "=")
	if len(told) != 4 {
		t.Skip("TestArtifacts gives it an artifact")
	}
	soc, encoding := told[1], told[2]
	artifact, err := os.ReadFile(told[0])
	require.NoError(t, err)
	d := loading{static.New(qnn.HTP(qnn.Options{SoC: soc, Whole: told[3] == "true"}), small), t, artifact}
	g := goldenOf(t, "olmoe")
	m := opened(t, packed(t, "olmoe", encoding), runtime.Options{Device: d})
	res, err := m.Run(t.Context(), runtime.Batch{Prompts: g.ids("p7.input_ids"), Logits: runtime.All})
	require.NoError(t, err)
	host := opened(t, packed(t, "olmoe", encoding), runtime.Options{Packings: []lower.Packing{qnn.Packing()}})
	want, err := host.Run(t.Context(), runtime.Batch{Prompts: g.ids("p7.input_ids"), Logits: runtime.All})
	require.NoError(t, err)
	kl := divergence(want.Logits, res.Logits, len(res.Logits)/7, nil)
	t.Logf("KL %.3g from the host's", kl)
	require.LessOrEqual(t, kl, 2e-3) // the host quantizes activations
}

// TestArtifacts prepares packages' graphs for three generations of HTP, runs them in
// a fresh process each, and gives them to devices that they are not for.
func TestArtifacts(t *testing.T) {
	made := map[string][]byte{}
	for _, c := range []struct {
		soc, encoding string
		whole         bool
	}{
		{"v79", "f32", false}, {"v79", "w8", true}, {"v75", "w4", false}, {"v79", "w4", false}, {"v81", "w4", false},
	} {
		soc, d := c.soc, preparedAs(t, c.soc, c.whole)
		arch, sdk, err := d.Target()
		require.NoError(t, err)
		require.Equal(t, soc, arch)
		require.Regexp(t, `^2\.\d+\.\d+\.\d{12}$`, sdk)
		require.NoError(t, d.Fits(arch, sdk))
		made[soc] = artifactOf(t, packed(t, "olmoe", c.encoding), d)
		t.Logf("%s, %s: %d bytes", soc, c.encoding, len(made[soc]))
		path := filepath.Join(t.TempDir(), soc)
		require.NoError(t, os.WriteFile(path, made[soc], 0o666))
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLoaded$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s=%s=%s=%t", artifactVariable, path, soc, c.encoding, c.whole))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NotContains(t, string(out), "SKIP")
	}
	d := prepared(t, "v79")
	_, sdk, err := d.Target()
	require.NoError(t, err)
	require.EqualError(t, d.Fits("v75", sdk), "qnn-htp: a context binary: made for HTP v75, QAIRT "+sdk+"; the device has HTP v79, QAIRT "+sdk+": another generation: make it anew for v79, or prepare graphs on the device")
	require.EqualError(t, d.Fits("v79", "3.1.0"), "qnn-htp: a context binary: made for HTP v79, QAIRT 3.1.0; the device has HTP v79, QAIRT "+sdk+": a newer QAIRT: put libraries of 3.1.0 or later on the device, or make it anew with "+sdk)
	require.EqualError(t, d.Fits("arm", sdk), `qnn-htp: a context binary for "arm", which is no generation of HTP such as v79`)
	require.ErrorContains(t, d.Fits("v79", "new"), `"new" is no version of QAIRT`)
	for _, c := range []struct {
		name, text string
		binary     []byte
		want       string
	}{
		{"another chip's", productText, made["v75"], `^qnn-htp: context binary: it: made for HTP v75, QAIRT .*; the device has HTP v79, .*: another generation: `},
		{"another package's", productText, made["v79"], `^qnn-htp: context binary: it has no graph g#[0-9a-f]{8}: another version of estream made it, of another package, or for other tiers: unsupported$`},
		{"another graph of the name", strings.Replace(productText, "graph g", "graph expert0@R2", 1), made["v79"], `^qnn-htp: context binary: it has no graph expert0@R2#`},
		{"cut short", productText, made["v79"][:1000], `^qnn-htp: context binary: `},
		{"none", productText, nil, `^qnn-htp: context binary: a context binary of no bytes$`},
	} {
		_, err := d.Load(t.Context(), []*ir.Graph{parse(t, c.text)}, qnn.Packing(), c.binary)
		require.Error(t, err, c.name)
		require.Regexp(t, c.want, err.Error(), c.name)
	}
}

// A binary of graphs that have the same inputs and compute something else is another's.
func TestArtifactOfOtherNodes(t *testing.T) {
	const text = `
graph g
  %1:x = input : f32[2,32]
  %2:y = clamp %1 limit=1 : f32[2,32]
  return %2
`
	d := qnn.HTP(qnn.Options{Folder: libraries(t, "libQnnHtp.so"), SoC: "v79", Child: child()})
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	binary, err := d.Prepare(t.Context(), []*ir.Graph{parse(t, text)}, qnn.Packing())
	require.NoError(t, err)
	es, err := d.Load(t.Context(), []*ir.Graph{parse(t, text)}, qnn.Packing(), binary)
	require.NoError(t, err)
	require.NoError(t, es[0].Close())
	_, err = d.Load(t.Context(), []*ir.Graph{parse(t, strings.Replace(text, "limit=1", "limit=2", 1))}, qnn.Packing(), binary)
	require.ErrorIs(t, err, lower.ErrUnsupported)
}

// Who waits is told what a device is at: each graph of those that a child compiles, of
// which chip, and each that is run.
func TestSteps(t *testing.T) {
	var told []qnn.Step
	ctx := qnn.WithSteps(t.Context(), func(s qnn.Step) { told = append(told, s) })
	d, p := prepared(t, "v79"), qnn.Packing()
	gs := []*ir.Graph{parse(t, productText), parse(t, strings.Replace(productText, "graph g", "graph h@R2", 1))}
	binary, err := d.Prepare(ctx, gs, p)
	require.NoError(t, err)
	at := func(graph string, number int) qnn.Step {
		return qnn.Step{Device: "qnn-htp", Doing: qnn.Compiling, Chip: "SM8750 (v79)", Graph: graph, Number: number, Of: 2}
	}
	require.Equal(t, []qnn.Step{at("", 0), at("g", 1), at("h@R2", 2), {}}, told)

	told = nil
	es, err := d.Load(ctx, gs, p, binary)
	require.NoError(t, err)
	mem, err := d.Alloc(4096, 128)
	require.NoError(t, err)
	var bs [][]lower.Buffer
	for _, list := range [][]*ir.Value{gs[1].Inputs(), gs[1].Weights(), gs[1].Outputs} {
		bs = append(bs, []lower.Buffer{{Mem: mem, Off: int64(1024 * len(bs)), Len: 1024, Type: list[0].Type, Factor: 1}})
	}
	require.NoError(t, es[1].Run(ctx, bs[0], bs[1], bs[2]))
	require.Equal(t, []qnn.Step{{Device: "qnn-htp", Doing: qnn.Running, Graph: "h@R2"}}, told)
	require.NoError(t, errors.Join(es[0].Close(), es[1].Close(), mem.Free()))

	told = nil
	alone, err := d.Compile(ctx, gs[0], p)
	require.NoError(t, err)
	require.NoError(t, alone.Close())
	require.Equal(t, []qnn.Step{{Device: "qnn-htp", Doing: qnn.Compiling, Graph: "g"}, {}}, told)
}

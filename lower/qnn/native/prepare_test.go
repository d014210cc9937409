package native

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// job is of the expert's graph on x, and prepares it for a SoC.
func (x target) job(t testing.TB, soc int) *Job {
	return &Job{
		Library: library(t, x.library), Start: Options{SoC: soc}, Options: x.graph, Binary: x.library == htp.library,
		Graphs: []Desc{*expert("expert"+strconv.Itoa(soc), x.dtype, rows, hidden, ffn)},
	}
}

// TestBinaries prepares in children for v75, v79 and v81, and executes here.
func TestBinaries(t *testing.T) {
	for _, soc := range []int{57, v79, 87} {
		t.Run(strconv.Itoa(soc), func(t *testing.T) { testBinary(t, soc) })
	}
}

func testBinary(t *testing.T, soc int) {
	x := htp
	x.start.SoC = soc
	b := x.open(t)
	system, err := OpenSystem(library(t, "libQnnSystem.so"))
	require.NoError(t, err)
	require.True(t, system.Version().serves(systemAPI))
	build, err := b.BuildID()
	require.NoError(t, err)
	job := htp.job(t, soc)
	job.Start.Log = 3
	made, err := child().Run(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, build, made.BuildID)
	require.Contains(t, made.Log, "read_total_bytes=", "the compiler's figures")

	m, err := system.Metadata(made.Binary)
	require.NoError(t, err)
	require.Equal(t, soc, m.SoC)
	require.Equal(t, 6, m.Backend)
	require.Equal(t, b.Core(), m.Core)
	require.Equal(t, b.Version(), m.API)
	require.Equal(t, build, m.BuildID)
	require.Equal(t, made.Graphs, m.Graphs, "signatures")

	c, err := b.FromBinary(made.Binary)
	require.NoError(t, err)
	g, err := c.Retrieve(m.Graphs[0])
	require.NoError(t, err)
	_, err = c.Retrieve(m.Graphs[0])
	require.ErrorContains(t, err, "the context has one of that name")
	call, err := g.NewCall()
	require.NoError(t, err)
	e := newExperiment(rand.New(rand.NewPCG(uint64(soc), 9)), htp.dtype)
	y := make([]byte, rows*hidden*htp.dtype.Size())
	require.NoError(t, call.Execute(e.in, [][]byte{y}))
	requireClose(t, e.want, decode(htp.dtype, y), htp.tolerance())
	require.NoError(t, call.Close())
	require.NoError(t, c.Close())
	require.ErrorContains(t, call.Execute(e.in, [][]byte{y}), "the call is closed")
	_, err = g.NewCall()
	require.ErrorContains(t, err, "the context is closed")
}

// TestCrash gives the libraries a graph that ends the process: they divide by the
// number of groups.
func TestCrash(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		job := x.job(t, v79)
		shuffle := job.Graphs[0]
		shuffle.Tensors = []Tensor{
			{Name: "x", Kind: AppWrite, Type: x.dtype, Dims: []int{1, 4, 4, 8}},
			{Name: "y", Kind: AppRead, Type: x.dtype, Dims: []int{1, 4, 4, 8}},
		}
		shuffle.Nodes = []Node{{Name: "mix", Op: "ChannelShuffle", Params: []Param{U32("num_groups", 0)}, In: []string{"x"}, Out: []string{"y"}}}
		job.Start = x.start
		job.Graphs = append(job.Graphs, shuffle)
		job.Graphs[1].Name = "shuffle"
		_, err := child().Run(t.Context(), job)
		require.ErrorContains(t, err, "graph shuffle: node mix (ChannelShuffle): backendValidateOpConfig: the process that prepared it died: exit status 2; it printed: ")
		require.ErrorContains(t, err, "SIGFPE: floating-point exception")
	})
}

func TestChildReportsRefusals(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		job := x.job(t, x.start.SoC)
		job.Graphs[0].Nodes[3].Op = "NoSuchOp"
		_, err := child().Run(t.Context(), job)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "graph "+job.Graphs[0].Name+": node to.gated (NoSuchOp)", refused.Of)
		require.Equal(t, "backendValidateOpConfig", refused.Call)
		require.NotEmpty(t, refused.Name)
		require.Contains(t, err.Error(), "; it printed: ", "the library's reason")

		_, here := job.Run()
		require.ErrorAs(t, here, &refused)
		require.Equal(t, refused.Error(), here.Error())
	})
}

func TestChildFails(t *testing.T) {
	_, err := Child{}.Run(t.Context(), &Job{})
	require.EqualError(t, err, "a child needs a command")
	_, err = Child{Command: []string{filepath.Join(t.TempDir(), "none")}}.Run(t.Context(), &Job{})
	require.ErrorContains(t, err, "no such file")
	_, err = Child{Command: []string{"/bin/false"}}.Run(t.Context(), &Job{})
	require.EqualError(t, err, "a process that prepares graphs died before it began: exit status 1")
	_, err = child().Run(t.Context(), &Job{Library: "/none/libQnnHtp.so"})
	require.ErrorContains(t, err, "load /none/libQnnHtp.so: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = child().Run(ctx, &Job{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestChildMisbehaves ends children in which a call does not return: after a while,
// and at once where nobody waits any more. One that aborts is told of alike.
func TestChildMisbehaves(t *testing.T) {
	var calls []string
	c := Child{Command: append(child().Command, "hang"), Patience: 50 * time.Millisecond, At: func(call, of string) { calls = append(calls, of+": "+call) }}
	_, err := c.Run(t.Context(), &Job{})
	for c.Patience < time.Minute && strings.Contains(fmt.Sprint(err), "died before it began: it was ended") { // a busy system starts it late
		c.Patience *= 2
		_, err = c.Run(t.Context(), &Job{})
	}
	require.EqualError(t, err, fmt.Sprintf("graph g: graphFinalize: the process that prepared it died: it was ended, as the call had not returned after %v", c.Patience))
	require.Equal(t, []string{"graph g: graphFinalize"}, calls)

	c.Patience = 0
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = c.Run(ctx, &Job{})
	require.ErrorIs(t, err, context.Canceled)

	c.Command[len(c.Command)-1] = "abort"
	_, err = c.Run(t.Context(), &Job{})
	require.ErrorContains(t, err, "graph g: graphFinalize: the process that prepared it died: exit status 2; it printed: SIGABRT: abort")
}

func TestMetadataOfOtherBytes(t *testing.T) {
	system, err := OpenSystem(library(t, "libQnnSystem.so"))
	require.NoError(t, err)
	_, err = system.Metadata(nil)
	require.EqualError(t, err, "a context binary of no bytes")
	for _, bytes := range []int{1, 100, 100_000} {
		_, err = system.Metadata(make([]byte, bytes))
		require.ErrorContains(t, err, "it is no context binary that this QAIRT reads")
	}
}

func TestBackend(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		b := x.open(t)
		require.NotEmpty(t, b.Provider())
		require.True(t, b.Core().serves(coreAPI))
		names, err := b.Operations()
		require.NoError(t, err)
		require.Subset(t, names, []string{"MatMul", "RmsNorm", "Softmax", "Gather"})
		require.NoError(t, b.Validate(expert("expert", x.dtype, rows, hidden, ffn)))

		c := newContext(t, b)
		require.ErrorContains(t, b.Close(), "1 contexts are open: close them first")
		_, err = c.Build(linear("twice", x.dtype, 1, 32, 32), x.graph)
		require.NoError(t, err)
		_, err = c.Build(linear("twice", x.dtype, 1, 32, 32), x.graph)
		require.EqualError(t, err, "graph twice: the context has one of that name")

		for _, s := range []Shared{{FD: -1, Bytes: 64}, {FD: 3, Bytes: 63}, {FD: 3, Bytes: 64, Offset: 4}} {
			_, err = c.Register(&Tensor{Name: "w", Type: Float16, Dims: []int{32}}, s)
			require.ErrorContains(t, err, "tensor w: 64 bytes at", s)
		}
	})
}

package interp_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoldenLogits(t *testing.T) {
	golden := readTensors(t, folder+"goldens.safetensors")
	for _, prompt := range []string{"p1", "p7", "p33", "batch", "ragged0", "ragged1", "ragged2"} {
		ids, m := golden[prompt+".input_ids"], newModel(t, "model.safetensors")
		n := ids.Type.Last().N
		var parts []part
		for b := range ids.Type.Dims[0].N {
			parts = append(parts, alone(ids.I[b*n:(b+1)*n], int32(b*n)))
		}
		m.step(parts...)
		requireClose(t, prompt, m.logits.F, golden[prompt+".logits"].F, goldenTolerance)
	}
}

func TestGoldenHiddenStates(t *testing.T) {
	golden, m := readTensors(t, folder+"goldens.safetensors"), newModel(t, "model.safetensors")
	m.step(alone(golden["p33.input_ids"].I, 0))
	names := map[string]string{"embed": "embed", "final_norm": "final.norm"}
	for l := range layers {
		for theirs, ours := range map[string]string{
			"mixer_out": "attn.o", "ffn_out": "experts", "layer_out": "y", "router_logits": "ffn.router", "topk_weights": "experts.weights",
		} {
			names[fmt.Sprintf("%s.%d", theirs, l)] = fmt.Sprintf("%s.%d", ours, l)
		}
		require.Equal(t, golden[fmt.Sprintf("p33.topk_ids.%d", l)].I, m.seen[fmt.Sprintf("experts.ids.%d", l)].I, "expert ids of layer %d", l)
	}
	for theirs, ours := range names {
		require.Contains(t, m.seen, ours)
		requireClose(t, theirs, m.seen[ours].F, golden["p33."+theirs].F, goldenTolerance)
	}
}

func TestGoldenBF16Weights(t *testing.T) {
	golden, m := readTensors(t, folder+"goldens.safetensors"), newModel(t, "model.bf16.safetensors")
	m.step(alone(golden["p33.input_ids"].I, 0))
	requireClose(t, "p33 with bf16 weights", m.logits.F, golden["p33.logits_bf16_weights"].F, goldenTolerance)
}

func TestGoldenGreedy(t *testing.T) {
	golden, m := readTensors(t, folder+"goldens.safetensors"), newModel(t, "model.safetensors")
	next := alone(golden["p7.input_ids"].I, 3)
	var got []int32
	for range 12 {
		m.step(next)
		last := m.rows(len(next.ids)-1, len(next.ids))
		id := int32(slices.Index(last, slices.Max(last)))
		got = append(got, id)
		next.past += int32(len(next.ids))
		next.ids = []int32{id}
	}
	require.Equal(t, golden["p7.greedy12"].I, got)
}

// The tests below ask for the same bits as the plain run: no result may depend
// on what else is in a step.

func TestRaggedPromptsAsOneStep(t *testing.T) {
	golden, m := readTensors(t, folder+"goldens.safetensors"), newModel(t, "model.safetensors")
	var parts []part
	for i, base := range []int32{40, 0, 20} {
		parts = append(parts, alone(golden[fmt.Sprintf("ragged%d.input_ids", i)].I, base))
	}
	m.step(parts...)
	at := 0
	for i, p := range parts {
		got := m.rows(at, at+len(p.ids))
		requireClose(t, fmt.Sprint("ragged", i), got, golden[fmt.Sprintf("ragged%d.logits", i)].F, goldenTolerance)
		requireClose(t, fmt.Sprintf("ragged%d alone", i), got, plain(t, p.ids), 0)
		at += len(p.ids)
	}
}

func TestChunkedSteps(t *testing.T) {
	golden, m := readTensors(t, folder+"goldens.safetensors"), newModel(t, "model.safetensors")
	a, b := golden["p33.input_ids"].I, golden["ragged1.input_ids"].I
	var gotA, gotB []float32
	pa, pb := 0, 0
	for _, n := range [][2]int{{1, 5}, {7, 0}, {0, 4}, {16, 3}, {9, 0}} { // tokens of a and b in each step
		m.step(
			part{ids: b[pb : pb+n[1]], past: int32(pb), base: 50, parent: -1},
			part{ids: a[pa : pa+n[0]], past: int32(pa), base: 10, parent: -1},
		)
		gotB = append(gotB, m.rows(0, n[1])...)
		gotA = append(gotA, m.rows(n[1], n[1]+n[0])...)
		pa, pb = pa+n[0], pb+n[1]
	}
	requireClose(t, "p33 in chunks", gotA, golden["p33.logits"].F, goldenTolerance)
	requireClose(t, "p33 in one step", gotA, plain(t, a), 0)
	requireClose(t, "ragged1 in one step", gotB, plain(t, b), 0)
}

func TestParentPrefix(t *testing.T) {
	golden, m := readTensors(t, folder+"goldens.safetensors"), newModel(t, "model.safetensors")
	ids, other := golden["p33.input_ids"].I, golden["ragged1.input_ids"].I
	const shared = 20
	fork := slices.Concat(ids[:shared], other)
	want, wantFork := plain(t, ids)[shared*vocab:], plain(t, fork)[shared*vocab:]

	// The parent, and a child beside it in the same step.
	child := part{ids: ids[shared:28], base: 65, parent: 1, shared: shared}
	m.step(child, alone(ids[:shared], 30))
	requireClose(t, "prefix", m.rows(8, 28), golden["p33.logits"].F[:shared*vocab], goldenTolerance)
	got := slices.Clone(m.rows(0, 8))

	// The parent goes on with other tokens; the child still sees its first 20 rows.
	parent := part{ids: other, past: shared, base: 30, parent: -1}
	child.ids, child.past = ids[28:], 8
	m.step(child, parent)
	got = append(got, m.rows(0, 5)...)
	requireClose(t, "child", got, want, 0)
	requireClose(t, "parent", m.rows(5, 5+len(other)), wantFork, 0)

	// A second child, born when the parent holds more than the prefix and rests.
	parent.past, parent.ids = parent.past+int32(len(other)), nil
	m.step(parent, part{ids: other, base: 0, parent: 0, shared: shared})
	requireClose(t, "late child", m.logits.F, wantFork, 0)
}

package qnn

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/native"
)

// Of a child's calls those tell of a step that come to a graph after the one before:
// the first of each, whatever else its name begins like.
func TestStepsOfChild(t *testing.T) {
	var told []Step
	ctx := WithSteps(t.Context(), func(s Step) { told = append(told, s) })
	var graphs []native.Desc
	for _, name := range []string{"g#1", "g#1.more#2", "h@T1,S64#3"} {
		graphs = append(graphs, native.Desc{Name: name})
	}
	at := Step{Device: "d", Doing: Compiling, Chip: "c", Of: 3}.by(ctx, graphs)
	for _, of := range []string{"/libQnn.so", "graph g#1: node a (Add)", "graph g#1: tensor x", "graph g#1", "graph g#1.more#2", "graph g#1", "graph x", "graph h@T1,S64#3: tensor y", "/libQnn.so"} {
		at("call", of)
	}
	require.Equal(t, []Step{
		{"d", Compiling, "c", "g", 1, 3}, {"d", Compiling, "c", "g", 2, 3}, {"d", Compiling, "c", "h@T1,S64", 3, 3},
	}, told)
	tell(context.Background(), Step{}) // nobody listens
	require.Len(t, told, 3)
}

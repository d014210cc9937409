package ir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

func TestSpans(t *testing.T) {
	type ints = []int32
	good := ir.StepData{Pos: ints{6, 7, 5, 3, 4}, Seq: ints{0, 2, 2, 3, 5}, Past: ints{6, 4, 1, 3}, Base: ints{0, 20, 10, 12}, Parent: ints{-1, 0, 0, -1}}
	spans, err := good.Spans(nil, 5, 24)
	require.NoError(t, err)
	require.Equal(t, []ir.Span{
		{From: 0, To: 2, Past: 6, Base: 0, Parent: -1},
		{From: 2, To: 2, Past: 4, Base: 20, Parent: -1},
		{From: 2, To: 3, Past: 1, Base: 10, Parent: 0, Prefix: 4, First: 0},
		{From: 3, To: 5, Past: 3, Base: 12, Parent: -1},
	}, spans)
	require.Zero(t, testing.AllocsPerRun(10, func() { good.Spans(spans[:0], 5, 24) }))
	some, err := ir.StepData{Seq: ints{0, 3}}.Spans(nil, 3, 0)
	require.NoError(t, err)
	require.Equal(t, []ir.Span{{From: 0, To: 3, Parent: -1}}, some)
	for _, c := range []struct {
		want   string
		change func(d *ir.StepData)
	}{
		{"seq is [], want it to run from 0 to 5, the number of tokens", func(d *ir.StepData) { d.Seq = nil }},
		{"seq is [0 2 2 3 4], want it to run from 0 to 5, the number of tokens", func(d *ir.StepData) { d.Seq = ints{0, 2, 2, 3, 4} }},
		{"seq[2] is 1 after 2, want it to ascend", func(d *ir.StepData) { d.Seq = ints{0, 2, 1, 3, 5} }},
		{"3 pasts and 4 bases of 4 sequences", func(d *ir.StepData) { d.Past = d.Past[:3] }},
		{"4 positions of 5 tokens and 4 parents of 4 sequences", func(d *ir.StepData) { d.Pos = d.Pos[:4] }},
		{"sequence 1: base 21, past 4 and 0 new rows do not fit the state's 24 rows", func(d *ir.StepData) { d.Base = ints{0, 21, 10, 12} }},
		{"sequence 2: base 10, past -1 and 1 new rows do not fit the state's 24 rows", func(d *ir.StepData) { d.Past = ints{6, 4, -1, 3} }},
		{"sequence 2 writes rows 12 to 12, of which sequence 3 holds some", func(d *ir.StepData) { d.Base = ints{0, 20, 11, 12} }},
		{"sequence 2: parent 1 is not a sequence of the step without a parent", func(d *ir.StepData) { d.Parent = ints{-1, 0, 1, -1} }},
		{"sequence 2: parent 4 is not a sequence of the step without a parent", func(d *ir.StepData) { d.Parent = ints{-1, 0, 4, -1} }},
		{"sequence 2: it starts behind 9 rows of parent 0, which has 8", func(d *ir.StepData) { d.Pos = ints{6, 7, 10, 3, 4} }},
		{"sequence 2: it starts behind -1 rows of parent 0, which has 8", func(d *ir.StepData) { d.Pos = ints{6, 7, 0, 3, 4} }},
	} {
		d := good
		c.change(&d)
		_, err := d.Spans(nil, 5, 24)
		require.EqualError(t, err, c.want)
	}
}

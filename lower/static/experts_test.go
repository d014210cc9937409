package static_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

const expert = `
graph c0.experts on dev
  %1:h = input : f32[T,1]
  %2:ids = input : i32[T,1]
  %3:weights = input : f32[T,1]
  %4:experts = experts %1 %2 %3 callee=expert0 : f32[T,1]
  return %4

graph expert0 on dev
  %1:x = input : f32[T,1]
  %2:rows = input : i32[R]
  %3:w = input : f32[R]
  %4:y = input : f32[T,1]
  %5 = gather_rows %1 %2 : f32[R,1]
  %6:down = weight offset=128 : w8[1,1]
  %7:gain = weight offset=64 : f32[1]
  %8 = matmul %5 %6 : f32[R,1]
  %9 = mul %8 %7 : f32[R,1]
  %10 = scale_rows %9 %3 : f32[R,1]
  %11 = scatter_add %4 %10 %2 inplace=0 : f32[T,1]
  return %11

graph expert0@R2 on dev
  %1:x = input : f32[2,1]
  %2:w = input : f32[2]
  %3:gain = weight offset=64 : f32[1]
  %4:down = weight offset=128 : w8[1,1]
  %5 = matmul %1 %4 : f32[2,1]
  %6 = mul %5 %3 : f32[2,1]
  %7 = scale_rows %6 %2 : f32[2,1]
  return %7

graph expert0@R4 on dev
  %1:x = input : f32[4,1]
  %2:w = input : f32[4]
  %3:gain = weight offset=64 : f32[1]
  %4:down = weight offset=128 : w8[1,1]
  %5 = matmul %1 %4 : f32[4,1]
  %6 = mul %5 %3 : f32[4,1]
  %7 = scale_rows %6 %2 : f32[4,1]
  return %7
`

// expertCall returns a call over six tokens, row t of x holding t+1, of y 1000.
func expertCall(group ...lower.Expert) *lower.Call {
	y := f32s(1000, 1000, 1000, 1000, 1000, 1000)
	return &lower.Call{In: []lower.Buffer{f32s(count(1, 6)...), {}, {}, y}, Out: []lower.Buffer{y}, Group: group}
}

// record returns an expert whose weights stand in a record at an offset.
func record(off int64, rows ...int32) lower.Expert {
	mem := lower.Wrap(make([]float32, 256))
	e := lower.Expert{Record: lower.Buffer{Mem: mem, Off: off, Len: 192}, Factors: []float32{0.5, 1}, Rows: rows}
	for _, r := range rows {
		e.W = append(e.W, float32(r)/10)
	}
	return e
}

func TestExperts(t *testing.T) {
	for _, c := range []struct {
		name  string
		group []lower.Expert
		log   string
		y     []float32
	}{
		{"none", nil, "", []float32{1000, 1000, 1000, 1000, 1000, 1000}},
		{"no rows", []lower.Expert{record(0)}, "", []float32{1000, 1000, 1000, 1000, 1000, 1000}},
		{
			"one row and a padded one, then a whole tier", []lower.Expert{record(64, 3), record(256, 0, 1, 4, 5)},
			"expert0@R2\n  x [4 0]\n  w [0.3 0]\n  gain at 128, 4 bytes, factor 1\n  down at 192, 64 bytes, factor 0.5\n" +
				"expert0@R4\n  x [1 2 5 6]\n  w [0 0.1 0.4 0.5]\n  gain at 320, 4 bytes, factor 1\n  down at 384, 64 bytes, factor 0.5\n",
			[]float32{1101, 1102, 1000, 1104, 1105, 1106},
		},
		{
			"rows beyond the largest tier", []lower.Expert{record(0, 0, 1, 2, 3, 5)},
			"expert0@R4\n  x [1 2 3 4]\n  w [0 0.1 0.2 0.3]\n  gain at 64, 4 bytes, factor 1\n  down at 128, 64 bytes, factor 0.5\n" +
				"expert0@R2\n  x [6 0]\n  w [0.5 0]\n  gain at 64, 4 bytes, factor 1\n  down at 128, 64 bytes, factor 0.5\n",
			[]float32{1101, 1102, 1103, 1104, 1000, 1106},
		},
		{
			"two experts of one row", []lower.Expert{record(0, 2), record(0, 2)},
			"expert0@R2\n  x [3 0]\n  w [0.2 0]\n  gain at 64, 4 bytes, factor 1\n  down at 128, 64 bytes, factor 0.5\n" +
				"expert0@R2\n  x [3 0]\n  w [0.2 0]\n  gain at 64, 4 bytes, factor 1\n  down at 128, 64 bytes, factor 0.5\n",
			[]float32{1000, 1000, 1206, 1000, 1000, 1000},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &recorder{}
			p := program(t, d, expert, "expert0")
			call := expertCall(c.group...)
			require.NoError(t, p.Run(context.Background(), call))
			require.Equal(t, c.log, d.log.String())
			require.Equal(t, c.y, lower.F32(call.Out[0].Bytes()))
		})
	}
}

// TestBadGroups gives groups that do not fit: nothing runs, not even what comes
// before the fault.
func TestBadGroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*lower.Expert)
		want  string
	}{
		{"row", func(e *lower.Expert) { e.Rows[1] = 6 }, "rows[1] is 6 after 0, want rows to ascend below 6"},
		{"order", func(e *lower.Expert) { e.Rows[0] = 3 }, "rows[1] is 1 after 3, want rows to ascend below 6"},
		{"twice", func(e *lower.Expert) { e.Rows[0] = 1 }, "rows[1] is 1 after 1, want rows to ascend below 6"},
		{"w", func(e *lower.Expert) { e.W = e.W[:1] }, "2 rows, 1 weights of rows and 2 factors, want as many weights as rows and 2 factors"},
		{"factors", func(e *lower.Expert) { e.Factors = nil }, "2 rows, 2 weights of rows and 0 factors, want as many weights as rows and 2 factors"},
		{"record", func(e *lower.Expert) { e.Record.Len -= 64 }, "weight down: its 64 bytes at 128 are not within the record's 128"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &recorder{}
			p := program(t, d, expert, "expert0")
			bad := record(0, 0, 1)
			c.spoil(&bad)
			err := p.Run(context.Background(), expertCall(record(0, 2), bad))
			require.EqualError(t, err, "dev: graph expert0: expert 1 of 2: "+c.want)
			require.Empty(t, d.log.String())
		})
	}
}

// TestExpertsInGroups adds the same bits however a group is cut.
func TestExpertsInGroups(t *testing.T) {
	d := &recorder{}
	p := program(t, d, expert, "expert0")
	all := []lower.Expert{record(0, 0, 2, 3), record(0, 2), record(0, 0, 1, 2, 3, 4, 5)}
	whole := expertCall(all...)
	require.NoError(t, p.Run(context.Background(), whole))
	parts := expertCall()
	for i := range all {
		parts.Group = all[i : i+1]
		require.NoError(t, p.Run(context.Background(), parts))
	}
	require.Equal(t, lower.F32(whole.Out[0].Bytes()), lower.F32(parts.Out[0].Bytes()))
}

func TestYIsWrittenInPlace(t *testing.T) {
	p := program(t, &recorder{}, expert, "expert0")
	call := expertCall(record(0, 1))
	call.Out[0] = buf(count(0, 6), ir.F32, 6, 1)
	require.EqualError(t, p.Run(context.Background(), call), "dev: graph expert0: output 0 is written in place and must have the buffer of input y")
}

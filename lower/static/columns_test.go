package static_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

const proj = `
graph head.proj on dev
  %1:x = input : f32[L,16]
  %2:w = weight offset=0 : f32[P,16]
  %3:y = matmul %1 %2 : f32[L,P]
  return %3

graph head.proj@L1,P2 on dev
  %1:x = input : f32[1,16]
  %2:w = weight offset=0 : f32[2,16]
  %3:y = matmul %1 %2 : f32[1,2]
  return %3

graph head.proj@L3,P2 on dev
  %1:x = input : f32[3,16]
  %2:w = weight offset=0 : f32[2,16]
  %3:y = matmul %1 %2 : f32[3,2]
  return %3

graph head.proj@L3,P1 on dev
  %1:x = input : f32[3,16]
  %2:w = weight offset=0 : f32[1,16]
  %3:y = matmul %1 %2 : f32[3,1]
  return %3
`

// TestColumns runs a head whose records have 2 columns, or 1: the tier has exactly
// the columns of the call, and at least its rows.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		name       string
		rows, cols int
		log, err   string
	}{
		{"one row", 1, 2, "@L1,P2 w at 0, 128 bytes", ""},
		{"two rows", 2, 2, "@L3,P2 w at 0, 128 bytes", ""},
		{"beyond the largest", 4, 2, "@L3,P2 w at 0, 128 bytes;@L1,P2 w at 0, 128 bytes", ""},
		{"the last record", 1, 1, "@L3,P1 w at 0, 64 bytes", ""},
		{"columns without a tier", 1, 3, "", "no tier has 3 columns: want one of P for each number of columns that a record has"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &recorder{}
			p := program(t, d, proj, "head.proj")
			err := p.Run(t.Context(), &lower.Call{
				In:      []lower.Buffer{buf(count(1, 16*c.rows), ir.F32, c.rows, 16)},
				Weights: []lower.Buffer{buf(make([]float32, 16*c.cols), ir.F32, c.cols, 16)},
				Out:     []lower.Buffer{buf(make([]float32, c.rows*c.cols), ir.F32, c.rows, c.cols)},
			})
			if c.err != "" {
				require.EqualError(t, err, "dev: graph head.proj: "+c.err)
				return
			}
			require.NoError(t, err)
			var log []string
			for line := range strings.Lines(d.log.String()) {
				switch {
				case strings.HasPrefix(line, "head.proj"):
					log = append(log, strings.TrimSpace(strings.TrimPrefix(line, "head.proj")))
				case strings.HasPrefix(line, "  w "):
					what, _, _ := strings.Cut(strings.TrimSpace(line), ", factor")
					log[len(log)-1] += " " + what
				}
			}
			require.Equal(t, c.log, strings.Join(log, ";"))
		})
	}
	_, err := compile(t, &recorder{}, strings.ReplaceAll(proj, ",P1", ""))
	require.ErrorContains(t, err, "and of P for weights with P columns alone")
}

package lower_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
)

func TestMapRow(t *testing.T) {
	plain := errors.New("no row")
	bare := &lower.RowError{Row: 2, Err: plain}
	for _, c := range []struct {
		err  error
		want string
		row  int // -1: none is blamed
	}{
		{nil, "", -1},
		{plain, "no row", -1},
		{bare, "row 12: no row", 12},
		{fmt.Errorf("tier g@T4: %w", bare), "row 12: tier g@T4: row 2: no row", 12},
		{&lower.ExpertError{Index: 1, Of: 3, Err: bare}, "row 12: expert 1 of 3: row 2: no row", 12},
		{&lower.RowError{Row: 4, Err: plain}, "row 4: no row", 4},
		{&lower.RowError{Row: -1, Err: plain}, "row -1: no row", -1},
	} {
		got := lower.MapRow(c.err, 4, func(row int) int { return 10 + row })
		if c.err == nil {
			require.NoError(t, got)
			continue
		}
		require.EqualError(t, got, c.want)
		require.ErrorIs(t, got, plain, c.want)
		var blamed *lower.RowError
		if errors.As(got, &blamed) {
			require.Equal(t, c.row, blamed.Row)
		} else {
			require.Equal(t, c.row, -1)
		}
	}
}

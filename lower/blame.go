package lower

import (
	"errors"
	"fmt"
)

// A RowError says what is wrong with one row of a call: of the first extent of
// its activations or ids, and so of a token. A Program returns it, wrapped, where
// a row's values are to blame; in a group call it is a row of x.
type RowError struct {
	Row int
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

// Unwrap returns what is wrong.
func (e *RowError) Unwrap() error { return e.Err }

// An ExpertError says what is wrong with one expert of a group call, by its
// place in Call.Group, which the caller filled. It wraps a RowError where a row
// that the expert was given is to blame.
type ExpertError struct {
	Index, Of int // place and number of experts
	Err       error
}

func (e *ExpertError) Error() string {
	return fmt.Sprintf("expert %d of %d: %v", e.Index, e.Of, e.Err)
}

// Unwrap returns what is wrong.
func (e *ExpertError) Unwrap() error { return e.Err }

// MapRow returns err with the row that it blames, if it does, changed by to: of a
// part of a call to the call's own. A row out of 0..rows-1 is left as it is.
func MapRow(err error, rows int, to func(row int) int) error {
	var blamed *RowError
	if !errors.As(err, &blamed) || blamed.Row < 0 || blamed.Row >= rows {
		return err
	}
	if err == error(blamed) {
		err = blamed.Err
	}
	return &RowError{to(blamed.Row), err}
}

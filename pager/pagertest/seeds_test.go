package pagertest

import (
	"slices"
	"testing"
)

func TestSeeds(t *testing.T) {
	t.Setenv(seedVar, "")
	t.Setenv(countVar, "")
	if got := slices.Collect(Seeds(t, 3)); len(got) != 3 || got[2] != got[0]+2 {
		t.Errorf("three seeds: %v", got)
	}
	t.Setenv(seedVar, "7")
	t.Setenv(countVar, "2")
	if got := slices.Collect(Seeds(t, 3)); !slices.Equal(got, []uint64{7, 8}) {
		t.Errorf("two seeds from 7 on: %v", got)
	}
}

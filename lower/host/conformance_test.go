package host_test

import (
	"testing"

	"estream/lower/host"
	"estream/lower/lowertest"
)

func TestConformance(t *testing.T) {
	lowertest.RunAll(t, host.New(host.Options{Threads: 3}), lowertest.Options{
		Half: lowertest.Tolerance{Rel: 1.0 / 128, Why: "queries and weights of attention are rounded to bfloat16 where keys and values are"},
	})
}

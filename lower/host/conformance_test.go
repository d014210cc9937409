package host_test

import (
	"testing"

	"estream/lower/host"
	"estream/lower/lowertest"
)

func TestConformance(t *testing.T) {
	lowertest.RunAll(t, host.New(host.Options{Threads: 3}), lowertest.Options{})
}

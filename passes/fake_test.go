package passes

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

func dtype(t *testing.T, s string) ir.DType {
	d, err := ir.ParseDType(s)
	require.NoError(t, err)
	return d
}

func policyOf(t *testing.T, words []string) Policy {
	var p Policy
	for _, w := range words {
		key, val, _ := strings.Cut(w, "=")
		d := dtype(t, val)
		switch key {
		case "experts":
			p.Experts = d
		case "attention":
			p.Attention = d
		case "head":
			p.Head = d
		case "embed":
			p.Embed = d
		case "exact":
			p.Exact = func(_, weight string) ir.DType {
				if weight == "ffn.bias" {
					return ir.F32
				}
				return d
			}
		default:
			t.Fatalf("unknown policy %q", w)
		}
	}
	return p
}

func targetOf(t *testing.T, words []string, r *Report) Target {
	host, device := &fake{name: "host"}, &fake{name: "device"}
	target := Target{Host: host, Report: r}
	numbers := func(list string) (ns []int) {
		for s := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(s)
			require.NoError(t, err)
			ns = append(ns, n)
		}
		return ns
	}
	for _, w := range words {
		key, val, _ := strings.Cut(w, "=")
		switch key {
		case "device":
			target.Backend = device
		case "static":
			target.Static, device.static = true, true
		case "lacks":
			device.lacks = strings.Split(val, ",")
		case "hostlacks":
			host.lacks = strings.Split(val, ",")
		case "activation":
			d := dtype(t, val)
			target.Activation = func(w ir.DType) ir.DType {
				if w == ir.W8 {
					return ir.A8
				}
				return d
			}
		case "T":
			target.Tiers.T = numbers(val)
		case "S":
			target.Tiers.S = numbers(val)
		case "R":
			target.Tiers.R = numbers(val)
		default:
			t.Fatalf("unknown target %q", w)
		}
	}
	return target
}

// A fake is a backend that supports every op but those it lacks and, where it is
// static, numbers for extents only.
type fake struct {
	lower.Backend
	name   string
	lacks  []string
	static bool
}

func (f *fake) Name() string { return f.name }

func (f *fake) Supports(v *ir.Value) error {
	for _, op := range f.lacks {
		if v.Op.Name == op {
			return fmt.Errorf("no %s: %w", op, lower.ErrUnsupported)
		}
	}
	for _, d := range v.Type.Dims {
		if f.static && d.Sym != "" {
			return fmt.Errorf("extent %s is not a number: %w", d, lower.ErrUnsupported)
		}
	}
	return nil
}

// plain packs matrices without gaps, scales behind the codes.
var plain = lower.Packing{Name: "plain", Size: func(t ir.Type) (int64, error) {
	n, k := int64(t.Dims[0].N), int64(t.Dims[1].N)
	if n > 1<<40/k {
		return 0, fmt.Errorf("%s is too large", t)
	}
	size := n * k * int64(t.DType.Bits()) / 8
	if t.DType.Encoded() {
		size += 2 * n * k / int64(t.DType.Group(int(k)))
	}
	return lower.RoundUp(size, 64), nil
}}

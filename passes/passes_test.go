package passes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/ir"
	"estream/lower"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata")

// TestPasses runs each file of testdata. Its comment has the line "passes:", and
// may have
//
//	policy: experts=T attention=T head=T embed=T exact=T
//	target: device lacks=OP,.. hostlacks=OP,.. static T=N,.. S=N,.. R=N,.. activation=T
//	in: FILE
//
// the last to start from what another file wants. The section in is the module,
// want the result or the error, report what was decided.
func TestPasses(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runFile(t, file) })
	}
}

func runFile(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	require.NoError(t, err)
	set := settingsOf(string(a.Comment))
	in := section(a, "in")
	if from := set["in"]; from != nil {
		b, err := txtar.ParseFile(filepath.Join("testdata", from[0]+".txtar"))
		require.NoError(t, err)
		in = section(b, "want")
	}
	want, report := transform(t, set, in)
	if *update {
		sections := []txtar.File{{Name: "want", Data: []byte(want)}}
		if set["in"] == nil {
			sections = append([]txtar.File{{Name: "in", Data: []byte(in)}}, sections...)
		}
		if report != "" {
			sections = append(sections, txtar.File{Name: "report", Data: []byte(report)})
		}
		a.Files = sections
		require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o666))
		return
	}
	const hint = "(-update rewrites the file)"
	require.Equal(t, section(a, "want"), want, hint)
	require.Equal(t, section(a, "report"), report, hint)
}

// settingsOf returns the words of the comment's "key:" lines.
func settingsOf(comment string) map[string][]string {
	set := map[string][]string{}
	for line := range strings.Lines(comment) {
		if key, words, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.Contains(key, " ") {
			set[key] = strings.Fields(words)
		}
	}
	return set
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// transform runs passes, each twice, and prints what they leave and report.
func transform(t *testing.T, set map[string][]string, in string) (want, report string) {
	m := parse(t, in)
	r := &Report{}
	all := append(Pack(policyOf(t, set["policy"]), plain, r), Open(targetOf(t, set["target"], r))...)
	var err error
	for _, name := range set["passes"] {
		ps := all
		switch name {
		case "pack":
			ps = all[:6]
		case "open":
			ps = all[6:]
		default:
			ps, err = Select(all, name)
			require.NoError(t, err)
		}
		for _, p := range ps {
			before := m.String()
			if err := Run(m, []Pass{p}, nil); err != nil {
				require.Equal(t, before, m.String(), "%s half-applied", p.Name)
				return "error: " + err.Error() + "\n", reportText(r)
			}
			once, seen := m.String(), *r
			require.NoError(t, Run(m, []Pass{p}, nil), "%s, a second time", p.Name)
			require.Equal(t, once, m.String(), "%s is not idempotent", p.Name)
			*r = seen
		}
	}
	return m.String(), reportText(r)
}

func parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	return m
}

func reportText(r *Report) string {
	var b strings.Builder
	for _, d := range r.Decisions {
		fmt.Fprintf(&b, "%s %s: %s -> %s (%s)\n", d.Graph, d.Weight, d.From, d.To, d.Reason)
	}
	for _, c := range r.Classes {
		fmt.Fprintf(&b, "%s from %s %s\n", c.Callee, c.Graph, c.Differs)
	}
	for _, h := range r.Hosted {
		fmt.Fprintf(&b, "%s stays on the host: %v\n", h.Graph, h.Why)
	}
	return b.String()
}

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

func TestOrder(t *testing.T) {
	var names []string
	for _, p := range append(Pack(Policy{}, plain, nil), Open(Target{})...) {
		require.NotContains(t, names, p.Name)
		require.NotEmpty(t, p.Doc)
		names = append(names, p.Name)
	}
	for _, c := range constraints {
		require.Contains(t, names, c.before)
		require.Contains(t, names, c.after)
		before := strings.Index(strings.Join(names, " "), c.before)
		after := strings.Index(strings.Join(names, " "), c.after)
		require.Less(t, before, after, "%s must run before %s: %s", c.before, c.after, c.why)
	}
}

func TestRunNamesThePass(t *testing.T) {
	m := parse(t, "graph m\n  %1:x = input : f32[4]\n  %2 = silu %1 : f32[4]\n  return %2\n")
	breaks := Pass{Name: "breaks", Run: func(m *ir.Module) error { m.Graphs[0].Values[1].ID = 1; return nil }}
	require.EqualError(t, Run(m, []Pass{breaks}, nil), "pass breaks broke the module: graph m: %1 = silu: I2: id 1 is not positive or taken")
	require.EqualError(t, Run(m, nil, nil), "before the first pass: graph m: %1 = silu: I2: id 1 is not positive or taken")
	_, err := Select(Open(Target{}), "legalise")
	require.EqualError(t, err, `no pass is named "legalise": there are legalize, bind-dims, plan-memory`)
}

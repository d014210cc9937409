package passes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/ir"
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
			before, shared := m.String(), m.Clone()
			if err := Run(m, []Pass{p}, nil); err != nil {
				require.Equal(t, before, m.String(), "%s half-applied", p.Name)
				return "error: " + err.Error() + "\n", reportText(r)
			}
			require.Equal(t, before, shared.String(), "%s writes into what clones share", p.Name)
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

func TestOrder(t *testing.T) {
	var names []string
	for _, p := range append(Pack(Policy{}, plain, nil), Open(Target{})...) {
		require.NotContains(t, names, p.Name)
		require.NotEmpty(t, p.Doc)
		names = append(names, p.Name)
	}
	for _, c := range Constraints() {
		require.Contains(t, names, c.Before)
		require.Contains(t, names, c.After)
		before := strings.Index(strings.Join(names, " "), c.Before)
		after := strings.Index(strings.Join(names, " "), c.After)
		require.Less(t, before, after, "%s must run before %s: %s", c.Before, c.After, c.Why)
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

// TestTarget: one backend is host and all; a static one needs a host.
func TestTarget(t *testing.T) {
	for _, c := range []struct {
		target Target
		want   string
	}{
		{Target{Backend: &fake{name: "host"}}, ""},
		{Target{Host: &fake{name: "host"}}, ""},
		{Target{}, "pass legalize: the target has no backend for the host"},
		{Target{Backend: &fake{name: "device"}, Static: true}, "pass legalize: the target has no backend for the host"},
	} {
		m := wanted(t, "pack_olmoe")
		err := Run(m, Open(c.target), nil)
		if c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		for _, g := range m.Graphs {
			require.Empty(t, g.On, g.Name)
		}
	}
}

// TestForeignOps: passes know an operator from outside by what it declares alone:
// one that writes in place is not folded, and what reads its operand comes first.
func TestForeignOps(t *testing.T) {
	type attr struct {
		ir.InplaceAttr
		By float64
	}
	bump := &ir.Op{Name: "bump", Operands: "t", Attr: attr{}, Infer: func(a []ir.Type, _ any) (ir.Type, error) { return a[0], nil }}
	ops, err := ir.Core(bump)
	require.NoError(t, err)
	m, err := ir.Parse(`
graph m
  %1:x = input : f32[T,4]
  %2 = silu %1 : f32[T,4]
  %3 = silu %1 : f32[T,4]
  %4 = sigmoid %2 : f32[T,4]
  %5 = bump %2 inplace=0 by=0.5 : f32[T,4]
  %6 = bump %3 inplace=0 by=0.5 : f32[T,4]
  %7 = add %5 %6 : f32[T,4]
  %8 = add %7 %4 : f32[T,4]
  return %8
`, ops)
	require.NoError(t, err)
	list, err := Select(append(Pack(Policy{}, plain, nil), Open(Target{Host: &fake{name: "host"}})...), "canonicalize", "dce", "plan-memory")
	require.NoError(t, err)
	require.NoError(t, Run(m, list, nil))
	require.Equal(t, `graph m
  %1:x = input : f32[T,4]
  %2 = silu %1 : f32[T,4] slot 1
  %3 = sigmoid %2 : f32[T,4] slot 2
  %4 = bump %2 inplace=0 by=0.5 : f32[T,4] slot 1
  %5 = silu %1 : f32[T,4] slot 3
  %6 = bump %5 inplace=0 by=0.5 : f32[T,4] slot 3
  %7 = add %4 %6 : f32[T,4] slot 4
  %8 = add %7 %3 : f32[T,4]
  return %8
`, m.String())
}

package cli_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/host"
	"estream/models"
	"estream/models/checkpoint"
	"estream/pager"
	"estream/tools/cli"
)

// A program that is put together wrongly says so whatever it is asked for, and
// names what is wrong.
func TestParts(t *testing.T) {
	itself := func(h lower.Backend) lower.Backend { return h }
	open := func(_, path string) (pager.Source, error) { return pager.OpenFile(path) }
	gelu := &ir.Op{Name: "gelu", Operands: "t"}
	for _, c := range []struct {
		put  func(a *cli.App)
		want string
	}{
		{func(a *cli.App) { a.Families = append(a.Families, models.Family{Name: "mine"}) }, `family "mine" has no Layer`},
		{func(a *cli.App) { a.Families = append(a.Families, a.Families[0]) }, `two parts are family "deepseek"`},
		{func(a *cli.App) { a.Families = append(a.Families, models.Family{Layer: a.Families[0].Layer}) }, "a family has no Name"},
		{func(a *cli.App) { a.Formats = append(a.Formats, checkpoint.Format{Name: "npz"}) }, `format "npz" has no Match; format "npz" has no Open`},
		{func(a *cli.App) { a.Formats = append(a.Formats, checkpoint.SafeTensors) }, `two parts are format "safetensors"`},
		{func(a *cli.App) { a.Backends = []cli.Backend{{Name: "npu"}} }, `backend "npu" has no New`},
		{func(a *cli.App) { a.Backends = []cli.Backend{{Name: "host", New: itself}} }, `two parts are backend "host"`},
		{func(a *cli.App) { a.Backends = []cli.Backend{{Name: "x", New: itself}, {Name: "x", New: itself}} }, `two parts are backend "x"`},
		{func(a *cli.App) { a.Sources = []cli.Source{{Name: "net"}} }, `source "net" has no Open`},
		{func(a *cli.App) { a.Sources = []cli.Source{{Name: "file", Open: open}} }, `two parts are source "file"`},
		{func(a *cli.App) { a.Sources = []cli.Source{{Name: "a=b", Open: open}} }, `source "a=b": what follows = is an argument, and no part of a name`},
		{func(a *cli.App) { a.Ops = []*ir.Op{nil} }, "an operator of Ops is nil"},
		{func(a *cli.App) { a.Ops = []*ir.Op{{Name: "add", Operands: "tt"}} }, `ir: two operators are named "add"`},
		{func(a *cli.App) { a.HostOps = map[*ir.Op]host.Func{gelu: nil} }, `operator "gelu" has no function in HostOps`},
		{func(a *cli.App) { a.HostOps = map[*ir.Op]host.Func{nil: nil} }, "HostOps has a nil operator"},
		{func(a *cli.App) { a.Interp = interp.Table{gelu: nil} }, `operator "gelu" has no function in Interp`},
	} {
		for _, args := range [][]string{{"formats"}, {"pack", tiny, t.TempDir() + "/p"}, {"--help"}} {
			var out, errs bytes.Buffer
			a := cli.Default()
			a.Stdout, a.Stderr = &out, &errs
			c.put(a)
			require.Equal(t, 1, cli.Main(a, args), "%s: %q", c.want, args)
			require.Empty(t, out.String())
			require.Equal(t, "estream: this program is put together wrongly: "+c.want+"\n", errs.String(), "%q", args)
		}
	}
}

// A backend whose New gives none, or that has no packing, is named where it is asked for.
func TestBackendOfNothing(t *testing.T) {
	a := withDevices()
	a.Backends = append(a.Backends, cli.Backend{Name: "none", New: func(lower.Backend) lower.Backend { return nil }})
	dir := packed(t, tiny, "w8")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--backend", "none", "--tokens", "1", dir}, `backend "none": its New returns nil`},
		{[]string{"check", "--backend", "none", "--golden", goldens, dir}, `backend "none": its New returns nil`},
		{[]string{"backends"}, `backend "none": its New returns nil`},
		{[]string{"pack", "--backend", "none", tiny, t.TempDir() + "/p"}, `backend "none": its New returns nil`},
		{[]string{"pack", "--backend", "silent", tiny, t.TempDir() + "/p"}, `backend "silent" has no packing: no package can be written for it`},
		{[]string{"repack", "--backend", "silent", dir, t.TempDir() + "/p"}, `backend "silent" has no packing: no package can be written for it`},
		{[]string{"synth", "--dry-run", "--backend", "silent", "--config", tiny}, `backend "silent" has no packing: no package can be written for it`},
	} {
		code, out, errs := runApp(a, c.args...)
		require.Equal(t, 1, code, "%q", c.args)
		require.Empty(t, out, "%q", c.args)
		require.Equal(t, "estream: "+c.want+"\n", errs, "%q", c.args)
	}
	code, _, errs := runApp(a, "inspect", dir)
	require.Zero(t, code, errs)
}

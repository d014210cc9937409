// Command estream with what this module adds from outside estream's tree: a family
// of models, a checkpoint format, an operator, a backend and a source of weights.
// The documents docs/adding-*.md of that tree walk through its parts.
package main

import (
	"os"

	"example.com/plugin/count"
	"example.com/plugin/mixer"
	"example.com/plugin/npz"
	"example.com/plugin/phimoe"
	"example.com/plugin/throttle"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/host"
	"estream/tools/cli"
)

func main() { os.Exit(cli.Main(app(), os.Args[1:])) }

func app() *cli.App {
	a := cli.Default()
	a.Families = append(a.Families, phimoe.Family)
	a.Formats = append(a.Formats, npz.Format)
	a.Ops = []*ir.Op{mixer.Op}
	a.Interp = interp.Table{mixer.Op: mixer.Reference}
	a.HostOps = map[*ir.Op]host.Func{mixer.Op: mixer.Host}
	counting := func(host lower.Backend) lower.Backend { return count.New(host, a.Stderr) }
	a.Backends = []cli.Backend{{Name: "count", Doc: "the host, which tells how often each graph was called", New: counting}}
	a.Sources = []cli.Source{{Name: "throttle", Doc: "files, read at so many MiB a second: throttle=40", Open: new(throttle.Throttle).Open}}
	return a
}

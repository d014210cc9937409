// Command estream lowers Mixture-of-Experts checkpoints into packages and runs
// them with their experts paged from disk.
package main

import (
	"os"

	"estream/tools/cli"
)

func main() { os.Exit(cli.Main(cli.Default(), os.Args[1:])) }

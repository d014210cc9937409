package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"estream/passes"
)

// A dump is the text of a module after a pass, or before the first: "input".
type dump struct{ after, module string }

// print prints a comment that says what it is, then the module.
func (d dump) print(w io.Writer) {
	if d.after == "input" {
		fmt.Fprintf(w, "# input\n%s\n", d.module)
		return
	}
	fmt.Fprintf(w, "# after %s\n%s\n", d.after, d.module)
}

func dumpsJSON(dumps []dump) []map[string]string {
	list := []map[string]string{}
	for _, d := range dumps {
		list = append(list, map[string]string{"after": d.after, "module": d.module})
	}
	return list
}

// checkDump refuses what --dump names and nobody will show.
func checkDump(names []string, ps []passes.Pass) error {
	known := []string{"all", "input"}
	for _, p := range ps {
		known = append(known, p.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return usagef("--dump %s: no pass of that name is run: use %s", n, strings.Join(known, ", "))
		}
	}
	return nil
}

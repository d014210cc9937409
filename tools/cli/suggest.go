package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// misspelled is how many letters a name may be off to be taken for a misspelled one.
const misspelled = 2

// suggest makes errors of commands and flags that there are not name those that are
// spelled alike.
func suggest(root *cobra.Command) {
	root.SuggestionsMinimumDistance = misspelled
	plain := root.FlagErrorFunc()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if near := alike(cmd.Flags(), unknown.GetSpecifiedName()); len(near) > 0 {
				return usagef("%v: did you mean --%s?", err, strings.Join(near, " or --"))
			}
		}
		return plain(cmd, err)
	})
}

// alike returns the flags that are spelled like name, as cobra does for commands. A
// short name is like too many.
func alike(flags *pflag.FlagSet, name string) []string {
	if len(name) <= misspelled+1 {
		return nil
	}
	names := &cobra.Command{SuggestionsMinimumDistance: misspelled}
	flags.VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	return names.SuggestionsFor(name)
}

package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// helpCommand is cobra's, but for a topic that there is not, which is an error.
func (a *App) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show how a command is used",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && c.IsAvailableCommand() && strings.HasPrefix(c.Name(), word) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		Example: "  estream help pack",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown command %q: %s", strings.Join(args, " "), didYouMean(cmd.Root(), args[0]))
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

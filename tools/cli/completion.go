package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"estream/pager"
	"estream/tools/bench"
	"estream/tools/pack"
)

// complete tells shells what arguments and flags of the commands may be. Packages
// and checkpoints are folders; a checkpoint may be a file too.
func (a *App) complete(root *cobra.Command) {
	suggest(root)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			for _, shell := range c.Commands() {
				shell.Args = args(shell.Args)
			}
			c.Args = args(c.Args)
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // so that a shell that there is not is an error
			continue
		case "help":
			continue
		case "pack":
			c.ValidArgsFunction = arguments(files(a.extensions()...), folders)
		case "repack":
			c.ValidArgsFunction = arguments(folders, folders)
		case "families", "ops", "formats", "backends":
			c.ValidArgsFunction = arguments()
		default:
			c.ValidArgsFunction = arguments(folders)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" {
				_ = c.RegisterFlagCompletionFunc(f.Name, a.flagValues(c.Name(), f.Name)) // fails for a flag that is not c's, or twice: neither is so
			}
		})
	}
}

// flagValues says what may stand behind a flag of a command.
func (a *App) flagValues(command, flag string) cobra.CompletionFunc {
	if command == "bench" && strings.HasPrefix(flag, "output") {
		return words(bench.Formats()...)
	}
	switch flag {
	case "encoding":
		var names []string
		for _, e := range pack.Encodings {
			names = append(names, cobra.CompletionWithDesc(e.Name, e.Doc))
		}
		return cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
	case "backend":
		return words(a.backendNames()...)
	case "source":
		return words(a.sourceNames()...)
	case "logits":
		return words("last", "all", "none")
	case "checksum":
		return words(pager.Always.String(), pager.First.String(), pager.Off.String())
	case "format":
		return words(exportFormats()...)
	case "exact":
		return words("f32", "f16", "bf16")
	case "activations":
		return words("a8", "a8g128", "none")
	case "only":
		return words("config", "graphs", "weights")
	case "schedule":
		return words(schedules()...)
	case "experts", "attention", "head":
		return words("exact", "f32", "bf16", "w8", "w4g32", "w4g64", "w4g128", "w4full32")
	case "embed":
		return words("exact", "f32", "bf16", "w8")
	case "model":
		return folders
	case "config", "trace":
		return files("json")
	case "plot":
		return files("svg")
	case "golden", "output":
		return files("safetensors")
	case "tokens-file":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.NoFileCompletions
}

func words(w ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(w, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
}

// files completes folders and files of some extensions.
func files(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// extensions are those of checkpoints, without the dot.
func (a *App) extensions() []string {
	var out []string
	for _, f := range a.Formats {
		for _, e := range f.Extensions {
			out = append(out, strings.TrimPrefix(e, "."))
		}
	}
	return out
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// arguments completes each argument in its own way, and none behind them.
func arguments(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) < len(each) {
			return each[len(args)](cmd, args, word)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

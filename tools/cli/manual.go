package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *App) manualCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "manual [flags] FOLDER",
		Short: "Write the manual pages",
		Long: `Manual writes a page of section 1 for estream and for each of its commands into a
folder, which it makes. Pages of the same names are written over.`,
		Example: `  estream manual share/man/man1
  man -l share/man/man1/estream-pack.1`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return a.manual(cmd.Root(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *App) manual(root *cobra.Command, dir string, asJSON bool) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var files []string
	var write func(c *cobra.Command) error
	write = func(c *cobra.Command) error {
		path := filepath.Join(dir, pageName(c)+".1")
		if err := os.WriteFile(path, []byte(manPage(c)), 0o666); err != nil {
			return err
		}
		files = append(files, path)
		for _, sub := range c.Commands() {
			if !sub.IsAvailableCommand() {
				continue
			}
			if err := write(sub); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(root); err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(map[string]any{"folder": dir, "files": files})
	}
	fmt.Fprintf(a.Stdout, "%s: %d pages, see man -l %s\n", dir, len(files), files[0])
	return nil
}

// pageName is the name of a command's page: estream-pack.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage writes a command's page in the language of man(7).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`.TH "%s" "1" "" "estream" "estream manual"`, strings.ToUpper(pageName(c)))
	p(".SH NAME\n%s \\- %s", roff(pageName(c)), roff(c.Short))
	p(".SH SYNOPSIS\n%s", roff(c.UseLine()))
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	p(".SH DESCRIPTION\n%s", paragraphs(long))
	c.InitDefaultHelpFlag()
	p(".SH OPTIONS")
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			p(".TP\n%s\n%s", roff(flagName(f)), roff(flagUsage(f)))
		}
	})
	if c.Example != "" {
		p(".SH EXAMPLES\n%s", paragraphs(c.Example))
	}
	p(".SH EXIT STATUS\n0 success, 1 failure, 2 wrong usage, 130 interrupted")
	var also []string
	if c.HasParent() {
		also = append(also, roff(pageName(c.Parent()))+"(1)")
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			also = append(also, roff(pageName(sub))+"(1)")
		}
	}
	p(".SH SEE ALSO\n%s", strings.Join(also, ", "))
	return b.String()
}

// flagName is a flag as it is written: -o, --output string.
func flagName(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, _ := pflag.UnquoteUsage(f)
	return strings.TrimSpace(name + " " + kind)
}

// flagUsage is what a flag does, and its default if it has one.
func flagUsage(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "false":
		return usage
	}
	return usage + " (default " + f.DefValue + ")"
}

// paragraphs formats text in which indented lines stay as they are.
func paragraphs(text string) string {
	var out []string
	verbatim := false
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		indented := strings.HasPrefix(line, " ")
		switch {
		case indented && !verbatim:
			out = append(out, ".PP", ".nf")
		case !indented && verbatim:
			out = append(out, ".fi")
		}
		if verbatim = indented; line == "" {
			line = ".PP"
		} else {
			line = roff(line)
		}
		out = append(out, line)
	}
	if verbatim {
		out = append(out, ".fi")
	}
	return strings.Join(out, "\n")
}

// roff escapes a line: hyphens are to be copied from a terminal, and neither
// point nor apostrophe begins a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

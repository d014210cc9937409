package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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
	root.DisableAutoGenTag = true
	header := doc.GenManHeader{Section: "1", Source: "estream", Manual: "estream manual"}
	if err := doc.GenManTree(root, &header, dir); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "estream*.1"))
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(map[string]any{"folder": dir, "files": files})
	}
	fmt.Fprintf(a.Stdout, "%s: %d pages, see man -l %s\n", dir, len(files), filepath.Join(dir, "estream.1"))
	return nil
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"estream/pager/layout"
)

func (a *App) verifyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "verify [flags] PACKAGE",
		Short:   "Read a whole package and compare every checksum",
		Example: "  estream verify olmoe.estream",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *App) verify(ctx context.Context, dir string, asJSON bool) error {
	m, err := a.look(ctx, dir)
	if err != nil {
		return err
	}
	if err := m.Close(); err != nil {
		return err
	}
	pkg, err := layout.Open(dir)
	if err != nil {
		return err
	}
	bar := a.progress("verifying")
	bytes := int64(0)
	err = layout.Verify(ctx, pkg, func(done, total int64) {
		bytes = total
		bar.update(done, total)
	})
	bar.end()
	if err != nil {
		return err
	}
	man := pkg.Manifest
	if asJSON {
		return a.printJSON(map[string]any{"package": dir, "ok": true, "bytes": bytes, "experts": len(man.Experts), "dense": len(man.Dense)})
	}
	fmt.Fprintf(a.Stdout, "%s: %d expert and %d dense records, %s: every checksum is right\n", dir, len(man.Experts), len(man.Dense), formatSize(bytes))
	return nil
}

package cli

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/tools/export"
)

// exportFlags are the flags of export.
type exportFlags struct {
	format, output string
	asJSON         bool
}

func (a *App) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export [flags] MODULE",
		Short: "Write a model's graphs for other programs",
		Long: `Export writes the graphs of a module, without its weights, as a drawing, as data or
for viewers of networks. MODULE is a package, a file of IR text, or a config.json, the
folder that it is in or a GGUF file, of which the family builds the module; - is IR
text on stdin. Of a package it is what the package stores; pipe from estream opt to see it
after other passes.

Formats:
` + exportTable(),
		Example: `  estream export --format onnx -o olmoe.onnx olmoe.estream
  estream export --format json olmoe.ir
  estream export -o olmoe.dot OLMoE-1B-7B-0924/config.json`,
		Args: args(cobra.ExactArgs(1)),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "dot", "what to write: "+strings.Join(exportFormats(), ", "))
	fl.StringVarP(&f.output, "output", "o", "", "file to write (default: stdout)")
	fl.BoolVar(&f.asJSON, "json", false, "print one JSON object on what was written; needs -o")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := export.Find(f.format)
		if err != nil {
			return usageError{err}
		}
		if f.asJSON && f.output == "" {
			return usagef("--json tells of a file: name one with -o, or take --format json")
		}
		m, err := a.module(cmd.Context(), cmd.InOrStdin(), args[0])
		if err != nil {
			return err
		}
		return a.export(cmd.Context(), format, f, args[0], m)
	}
	return cmd
}

func exportFormats() []string {
	var names []string
	for _, f := range export.Formats() {
		names = append(names, f.Name)
	}
	return names
}

func exportTable() string {
	var b strings.Builder
	for _, f := range export.Formats() {
		b.WriteString("  " + f.Name + strings.Repeat(" ", 6-len(f.Name)) + f.Doc + "\n")
	}
	return b.String()
}

// export writes m, which was read from path.
func (a *App) export(ctx context.Context, format export.Format, f exportFlags, path string, m *ir.Module) error {
	out, err := newOutput(ctx, "output", f.output, path)
	if err != nil {
		return err
	}
	defer out.discard()
	w, err := a.exportTo(format, out)
	if err != nil {
		return err
	}
	data, err := until(ctx, func() ([]byte, error) {
		var b bytes.Buffer
		err := format.Write(&b, export.Model{Name: moduleName(path), Module: m})
		return b.Bytes(), err
	})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil || out == nil {
		return err
	}
	if err := out.finish(); err != nil {
		return err
	}
	if f.asJSON {
		graphs, values := extent(m)
		return a.printJSON(map[string]any{"file": f.output, "format": format.Name, "bytes": len(data), "graphs": graphs, "values": values})
	}
	return nil
}

// exportTo returns out's file, or, without one, stdout: text as a terminal may show it,
// other bytes as they are.
func (a *App) exportTo(format export.Format, out *output) (io.Writer, error) {
	if out != nil {
		return out, nil
	}
	p, ok := a.Stdout.(*printer)
	if !format.Binary || !ok {
		return a.Stdout, nil
	}
	if f := file(p); f != nil && isTerminal(f) {
		return nil, usagef("--format %s is no text to show: name a file with -o", format.Name)
	}
	return raw{p}, nil
}

// moduleName is what a module that was read from path is called.
func moduleName(path string) string {
	if path == "-" {
		return "stdin"
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	base := filepath.Base(path)
	if base == "config.json" {
		base = filepath.Base(filepath.Dir(path))
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

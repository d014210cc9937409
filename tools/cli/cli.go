// Package cli is the estream command as a library: a program with families,
// formats, operators, backends or sources of its own fills an App and calls Main.
//
// Results go to stdout, progress and notes to stderr. Exit codes: 0 success,
// 1 failure, 2 wrong usage, 130 interrupted. A reader of stdout that leaves before
// the end, as head does, is a failure of which nothing is said.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower/host"
	"estream/models"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/tools/check"
)

// An App is what a command is made of.
type App struct {
	Families []models.Family
	Formats  []checkpoint.Format
	Ops      []*ir.Op             // beside the core ops
	HostOps  map[*ir.Op]host.Func // how the host runs Ops
	Interp   interp.Table         // how the interpreter of check computes Ops
	Backends []Backend            // beside the host
	Sources  []Source             // beside files

	GoldenNames []check.Name // of golden files, before those that check knows

	Stdout, Stderr io.Writer
	began          time.Time
}

// Default is the App of the estream command itself.
func Default() *App {
	return &App{Families: all.Families(), Formats: all.Formats(), Backends: qnnBackends(), Stdout: os.Stdout, Stderr: os.Stderr}
}

// usageError is a mistake in how the command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs the command and returns its exit code. It leaves a as it is.
func Main(a *App, args []string) int {
	b := *a // whose writers last for this call
	a = &b
	a.began = time.Now()
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // stdout or stderr that nobody reads is an error of a write, as other files are
	defer signal.Stop(broken)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
		signal.Notify(broken, syscall.SIGHUP) // a closed terminal sends two, of which the second is none of the user's
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	out := &printer{Writer: stoppable{a.Stdout, ctx.Done()}}
	a.Stdout, a.Stderr = out, stoppable{a.Stderr, ctx.Done()}
	defer a.ending(ctx)()
	err := a.checkParts()
	if err == nil {
		root := a.root()
		root.SetArgs(llamaArgs(args))
		err = out.once(root.ExecuteContext(a.compiling(ctx)))
	}
	err = remedied(err)
	if err == nil {
		return 0
	}
	code, text := 1, err.Error()
	var usage usageError
	switch {
	case ctx.Err() != nil:
		code, text = 130, "interrupted"
	case errors.As(err, &usage):
		code = 2
	}
	if code == 130 || !out.left() {
		fmt.Fprintf(a.Stderr, "estream: %s\n", visible(text))
	}
	return code
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "estream",
		Short:   "Run Mixture-of-Experts models that do not fit in memory",
		Version: version(),
		Long: `estream lowers a Mixture-of-Experts checkpoint into a package and runs it with
its experts paged from disk through a small arena, loading hidden behind
computation.`,
		Example: `  estream pack --encoding w4 OLMoE-1B-7B olmoe.estream
  estream run olmoe.estream "The capital of France is"
  estream inspect olmoe.estream`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: %s", args[0], didYouMean(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v: see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(a.packCommand(), a.runCommand(), a.inspectCommand(), a.verifyCommand(), a.synthCommand(), a.repackCommand(), a.checkCommand(), a.benchCommand(), a.planCommand(), a.diffCommand(), a.traceCommand(), a.optCommand(), a.exportCommand(), a.calibrateCommand(), a.doctorCommand(), a.deviceCommand(), a.qnnChildCommand(), a.prepareCommand(), a.manualCommand())
	root.AddCommand(a.listCommands()...)
	root.SetHelpCommand(a.helpCommand())
	a.complete(root)
	return root
}

// args makes cobra's check of arguments a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if err := check(cmd, a); err != nil {
			return usagef("%v: usage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// printJSON prints one object on a line of its own.
func (a *App) printJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// print prints a line of results, note one about them.
func (a *App) print(format string, args ...any) { fmt.Fprintf(a.Stdout, format+"\n", args...) }

func (a *App) note(format string, args ...any) {
	fmt.Fprintln(a.Stderr, visible(fmt.Sprintf(format, args...)))
}

func didYouMean(cmd *cobra.Command, word string) string {
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "see estream --help"
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version + " " + info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return v
}

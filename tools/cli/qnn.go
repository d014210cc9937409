package cli

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"estream/lower"
	"estream/lower/qnn"
	"estream/lower/qnn/native"
	"estream/lower/static"
	"estream/passes"
)

// qnnSoC is the environment variable that names the chip for which graphs are
// made. It is no flag, so that each command that has --backend obeys it, as it does
// find.Variable, which names the folder of libraries.
const qnnSoC = "ESTREAM_QNN_SOC"

// Further ones are whether the head runs on the device too, "device", and whether the
// weights of layers are "inside" its graphs or "bound" at each run.
const (
	qnnHead    = "ESTREAM_QNN_HEAD"
	qnnWeights = "ESTREAM_QNN_WEIGHTS"
)

// qnnInside reports whether weights are to be inside, and what no variable may be.
func qnnInside() (bool, error) {
	if at := os.Getenv(qnnHead); at != "" && at != "device" && at != "host" {
		return false, usagef("%s is %q: want device or host", qnnHead, at)
	}
	switch at := os.Getenv(qnnWeights); at {
	case "", "bound":
		return false, nil
	case "inside":
		return true, nil
	default:
		return false, usagef("%s is %q: want bound or inside", qnnWeights, at)
	}
}

// qnnBackends run graphs on Qualcomm's libraries. A program that cannot load them
// has these too: it packs for a device that can.
func qnnBackends() []Backend {
	return []Backend{
		qnnBackend("qnn-cpu", "Qualcomm's reference library on the processor, in single precision", qnn.CPU),
		qnnBackend("qnn-htp", "Qualcomm's neural processor (HTP), or its emulation, in half precision", qnn.HTP),
	}
}

func qnnBackend(name, doc string, device func(qnn.Options) *qnn.Device) Backend {
	return Backend{
		Name: name, Doc: doc,
		New:   func(lower.Backend) lower.Backend { return static.New(device(qnnOptions()), qnnTiers()) },
		Needs: func() (string, error) { return device(qnnOptions()).Libraries() },
	}
}

// qnnOptions are those of every command. Graphs are prepared by this program again,
// as a child.
func qnnOptions() qnn.Options {
	o := qnn.Options{SoC: os.Getenv(qnnSoC)}
	if exe, err := os.Executable(); err == nil { // else this process prepares
		o.Child = native.Child{Command: []string{exe, qnnChild}}
	}
	return o
}

// qnnTiers are what graphs are made for where a package has no calibration: one
// token, and chunks of a prompt; rows of an expert for either.
func qnnTiers() passes.Tiers {
	t := passes.Tiers{T: []int{1, 16, 64}, S: []int{64, 512, 4096}, R: []int{1, 4, 16, 64}}
	if os.Getenv(qnnHead) == "device" {
		t.L = []int{1, 16, 64}
	}
	return t
}

// qnnChild is the name of the command that prepares graphs for another process.
const qnnChild = "qnn-child"

func (a *App) qnnChildCommand() *cobra.Command {
	return &cobra.Command{
		Use: qnnChild, Hidden: true, Args: args(cobra.NoArgs),
		Short: "Prepare graphs for another estream, which sends them",
		RunE: func(*cobra.Command, []string) error {
			if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
				return usagef("%s is for estream itself, which sends it graphs", cmp.Or(os.Args[0], "estream"))
			}
			native.Serve()
			return nil
		},
	}
}

package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"estream/lower/qnn/find"
)

// A Run is the program with arguments, in the folder that it was pushed to.
type Run struct {
	Folder         string
	Args           []string
	Libraries      bool // QNN's were pushed too
	OS             string
	Stdout, Stderr io.Writer
}

// environment sets where libraries are, for the loader, for estream and for the DSP.
func (r *Run) environment() string {
	if !r.Libraries {
		return ""
	}
	lib := path.Join(r.Folder, "lib")
	loader := lib
	if r.OS == "android" {
		loader += ":/vendor/lib64" // has libcdsprpc.so
	}
	return fmt.Sprintf("export LD_LIBRARY_PATH=%s ADSP_LIBRARY_PATH=%s %s=%s\n", quote(loader), quote(find.DSPPath(lib)), find.Variable, quote(lib))
}

// program is the command line on the device.
func (r *Run) program() string {
	words := []string{"./estream"}
	for _, a := range r.Args {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

// Probe starts the program once, to see that it can be, and returns its version.
func (d *Device) Probe(ctx context.Context, r Run) (string, error) {
	r.Args = []string{"--version"}
	out, err := d.Shell(ctx, "cd "+quote(r.Folder)+" || exit\n"+r.environment()+r.program())
	var exit *Exit
	if errors.As(err, &exit) {
		remedy := "push a program for this device with --program"
		if exit.Code == 126 {
			remedy = "it lost its permission, or the folder does not allow programs: name another with --to"
		}
		return "", fmt.Errorf("%s/estream does not start on device %s: %w: %s", r.Folder, d.Serial, err, remedy)
	}
	return strings.TrimSpace(out), err
}

// Run runs the program, whose output goes on as it comes, and returns its exit
// code. If ctx ends, the program on the device is told to.
func (d *Device) Run(ctx context.Context, r Run) (int, error) {
	// The script's own code gets lost with old devices: it is kept in a file.
	script := fmt.Sprintf(`cd %s || exit
rm -f run.exit
%s%s </dev/null &
echo $! >run.pid
wait $!
echo $? >run.exit`, quote(r.Folder), r.environment(), r.program())
	failed := d.stoppable(ctx, r, script)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	out, err := d.Shell(ctx, "cat "+quote(path.Join(r.Folder, "run.exit")))
	if err != nil {
		return 0, fmt.Errorf("the run on device %s did not end: %w", d.Serial, errors.Join(failed, err))
	}
	code, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("the run on device %s ended with code %q", d.Serial, out)
	}
	return code, nil
}

// patience is how long a program may take to end when it is told to.
const patience = 5 * time.Second

// stoppable runs a script whose output goes on as it comes. If ctx ends, the
// program on the device is told to: it would outlive adb.
func (d *Device) stoppable(ctx context.Context, r Run, script string) error {
	lasting, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(patience, abandon)
		_, _ = d.Shell(lasting, "cd "+quote(r.Folder)+" && kill $(cat run.pid)") // fails if it has ended, or the device is gone
	})
	defer stop()
	return d.adb.run(lasting, r.Stdout, r.Stderr, "-s", d.Serial, "shell", script)
}

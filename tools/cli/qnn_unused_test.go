package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/calibrate"
)

func TestNoteUnused(t *testing.T) {
	file := layout.Artifact{File: "f.bin", Arch: "v79"}
	other := errors.New("it has no graph x: another version of estream made it")
	plain, calibrated := &routing{}, &routing{watch: new(calibrate.Watch)}
	const left = "note: f.bin is left, and its graphs are compiled at each start: "
	for _, c := range []struct {
		name string
		u    *runtime.Unused
		r    *routing
		head string
		want string
	}{
		{"nothing", nil, plain, "", ""},
		{"inside", &runtime.Unused{Artifact: file, Inside: 3}, plain, "", "note: of f.bin only experts are taken: ESTREAM_QNN_WEIGHTS=inside has the graphs of 3 layers compiled at each start, with their weights in them; ESTREAM_QNN_WEIGHTS=bound takes all from the file\n"},
		{"head", &runtime.Unused{Artifact: file, Err: other, Sizes: []runtime.TierChange{{Symbol: "L", Now: "1,16"}}}, plain, "device", left + "it is for rows of the head none, this run has 1,16 (ESTREAM_QNN_HEAD=device): to make it anew: ESTREAM_QNN_HEAD=device estream prepare --soc v79 p\n"},
		{"calibration", &runtime.Unused{Artifact: file, Err: other, Sizes: []runtime.TierChange{{Symbol: "R", Made: "1,4", Now: "3,8"}, {Symbol: "G", Now: "1,4"}}}, calibrated, "", left + "it is for rows of an expert 1,4, this run has 3,8 (by the package's calibration); it is for experts of a launch none, this run has 1,4 (by the package's calibration): to make it anew: estream prepare --soc v79 p\n"},
		{"calibration that is gone", &runtime.Unused{Artifact: file, Err: other, Sizes: []runtime.TierChange{{Symbol: "R", Made: "3,8", Now: "1,4"}}}, nil, "", left + "it is for rows of an expert 3,8, this run has 1,4 (without a calibration): to make it anew: estream prepare --soc v79 p\n"},
		{"tokens", &runtime.Unused{Artifact: file, Err: other, Sizes: []runtime.TierChange{{Symbol: "T", Made: "1", Now: "1,64"}}}, plain, "", left + "it is for tokens 1, this run has 1,64: to make it anew: estream prepare --soc v79 p\n"},
		{"values", &runtime.Unused{Artifact: file, Err: other, Tapped: true}, plain, "", "note: f.bin is left, and its graphs are compiled at this start: values within them are looked at\n"},
		{"version", &runtime.Unused{Artifact: file, Err: other}, plain, "", left + "it has no graph x: another version of estream made it: to make it anew: estream prepare --soc v79 p\n"},
		{"another architecture of the device", &runtime.Unused{Artifact: file, Device: "v75", Err: other}, plain, "", left + "it has no graph x: another version of estream made it: to make it anew: estream prepare --soc v75 p\n"},
		{"names that are no plain words", &runtime.Unused{Artifact: layout.Artifact{File: "\x1b[2J", Arch: "v79;\nx"}, Err: other}, plain, "it's", "note: \uFFFD[2J is left, and its graphs are compiled at each start: it has no graph x: another version of estream made it: to make it anew: " + qnnHead + `='it'\''s' estream prepare --soc 'v79;` + "\nx' p\n"},
	} {
		t.Setenv(qnnHead, c.head)
		var said bytes.Buffer
		a := Default()
		a.Stderr = &said
		a.noteUnused("p", c.u, c.r)
		require.Equal(t, c.want, said.String(), c.name)
	}
}

func TestQuoted(t *testing.T) {
	for s, want := range map[string]string{"a/B_9.-+": "a/B_9.-+", "": "''", "a b": "'a b'", "~": "'~'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "a\n": "'a\n'"} {
		require.Equal(t, want, quoted(s), "%q", s)
	}
}

// An error of programs for other devices names the command that makes those of this one, however it is wrapped.
func TestRemedied(t *testing.T) {
	t.Setenv(qnnHead, "")
	e := &runtime.ArtifactsError{Dir: "my p", Device: "v75", Whys: []error{errors.New("for v79"), errors.New("for v81")}}
	for _, err := range []error{e, fmt.Errorf("package: %w", e), errors.Join(e, nil)} {
		require.EqualError(t, remedied(err), err.Error()+": estream prepare --soc v75 'my p'")
	}
	require.Regexp(t, "for this device: for v79; for v81$", e.Error())
	require.NoError(t, remedied(nil))
	require.Equal(t, io.EOF, remedied(io.EOF))
}

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/find"
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
		a.noteUnused("p", c.u, []layout.Artifact{{File: "other.bin", Arch: "v75", Name: "of other sizes"}, {Backend: "other", File: "foreign.bin", Arch: "v81"}}, c.r)
		require.Equal(t, c.want, said.String(), c.name)
	}
}

// Programs for other generations that are as the one that is left have a line, and one command makes all anew.
func TestNoteUnusedGenerations(t *testing.T) {
	t.Setenv(qnnHead, "")
	of := func(arch, name string) layout.Artifact {
		return layout.Artifact{Backend: "qnn-htp", Arch: arch, Name: name, File: arch + ".bin"}
	}
	var said bytes.Buffer
	a := Default()
	a.Stderr = &said
	u := &runtime.Unused{Artifact: of("v79", "programs T1"), Device: "v79", Err: io.EOF, Sizes: []runtime.TierChange{{Symbol: "T", Made: "1", Now: "1,64"}}}
	a.noteUnused("p", u, []layout.Artifact{of("v81", "programs T1"), of("v79", "programs T1"), of("v75", "programs T1"), of("v73", "programs T1,64")}, nil)
	require.Equal(t, `note: v79.bin is left, and its graphs are compiled at each start: it is for tokens 1, this run has 1,64
      made alike, each for its own device: v81.bin, v75.bin
      to make all anew: estream prepare --soc v75,v79,v81 p
`, said.String())
}

func TestQuoted(t *testing.T) {
	for s, want := range map[string]string{"a/B_9.-+": "a/B_9.-+", "": "''", "a b": "'a b'", "-p": "./-p", "-a b": "'./-a b'", "~": "'~'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "a\n": "'a\n'"} {
		require.Equal(t, want, quoted(s), "%q", s)
	}
}

// An error of a program for another device names the command that makes one for this, however it is wrapped.
func TestRemedied(t *testing.T) {
	t.Setenv(qnnHead, "")
	e := &runtime.ArtifactsError{Dir: "my p", Device: "v75", Whys: []error{errors.New("for v79")}}
	for _, err := range []error{e, fmt.Errorf("package: %w", e), errors.Join(e, nil)} {
		told := remedied(err)
		require.EqualError(t, told, err.Error()+": estream prepare --soc v75 'my p'")
		require.ErrorIs(t, told, e)
	}
	require.NoError(t, remedied(nil))
	require.Equal(t, io.EOF, remedied(io.EOF))
}

// One of several has a line for each, and one command, which makes anew what is by a newer QAIRT than this device's too.
func TestRemediedGenerations(t *testing.T) {
	t.Setenv(qnnHead, "")
	old, err := find.ParseBuild("2.47.0")
	require.NoError(t, err)
	later, err := find.ParseBuild("2.51.0")
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		device  find.Target
		made    []find.Target
		further []error
		want    string
	}{
		{"other generations", find.Target{Arch: 73, Build: later}, []find.Target{{Arch: 81, Build: later}, {Arch: 79, Build: old}}, nil, `, HTP v73, QAIRT 2.51.0:
    made for HTP v81, QAIRT 2.51.0: another generation
    made for HTP v79, QAIRT 2.47.0: another generation
to make programs for it: estream prepare --soc v73 p`},
		{"older libraries", find.Target{Arch: 79, Build: old}, []find.Target{{Arch: 81, Build: later}, {Arch: 79, Build: later}, {Arch: 75, Build: old}}, nil, `, HTP v79, QAIRT 2.47.0:
    made for HTP v81, QAIRT 2.51.0: another generation, and a newer QAIRT
    made for HTP v79, QAIRT 2.51.0: a newer QAIRT: put libraries of 2.51.0 or later on the device, or make it anew with 2.47.0
    made for HTP v75, QAIRT 2.47.0: another generation
to make programs for it: estream prepare --soc v79,v81 p`},
		{"another backend's", find.Target{Arch: 79}, nil, []error{errors.New("for v2"), errors.New("for v3")}, `:
    for v2
    for v3
to make programs for it: estream prepare --soc v79 p`},
	} {
		e := &runtime.ArtifactsError{Dir: "p", Device: fmt.Sprintf("v%d", c.device.Arch), Whys: c.further}
		for _, made := range c.made {
			e.Whys = append(e.Whys, fmt.Errorf("qnn-htp: %w", find.Fit("a context binary", made, c.device)))
		}
		require.EqualError(t, remedied(fmt.Errorf("package p: %w", e)), "package p: none of its compiled programs is for this device"+c.want, c.name)
	}
}

// A command in an error has the package that it is for, as a shell wants it.
func TestNamed(t *testing.T) {
	require.NoError(t, withFolder(nil, "p"))
	require.Equal(t, io.EOF, withFolder(io.EOF, "p"))
	err := fmt.Errorf("read-only: cp -R PACKAGE NEW && estream prepare NEW: %w", io.EOF)
	require.EqualError(t, withFolder(err, "p"), "read-only: cp -R p NEW && estream prepare NEW: EOF")
	require.EqualError(t, withFolder(err, "my p"), "read-only: cp -R 'my p' NEW && estream prepare NEW: EOF")
	require.ErrorIs(t, withFolder(err, "p"), io.EOF)
}

package find

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSoC(t *testing.T) {
	const machine, id, family, tree = "/sys/devices/soc0/machine", "/sys/devices/soc0/soc_id", "/sys/devices/soc0/family", "/proc/device-tree/compatible"
	for _, c := range []struct {
		name  string
		env   map[string]string
		files map[string]string
		want  string
		where string
		err   string
	}{
		{"a phone's property", map[string]string{"ro.soc.model": "SM8750P", "ro.soc.manufacturer": "QTI"}, nil, "SM8750 (v79)", "ro.soc.model", ""},
		{"mainline's name", nil, map[string]string{machine: "SM8650\n", family: "Snapdragon\n"}, "SM8650 (v75)", machine, ""},
		{"a code name, and the number", nil, map[string]string{machine: "SUN\n", id: "618\n", family: "Snapdragon\n"}, "SM8750 (v79)", id, ""},
		{"a device tree", nil, map[string]string{tree: "lenovo,yoga-slim7x\x00qcom,x1e80100\x00"}, "SC8380XP (v73)", tree, ""},
		{"the longer name", map[string]string{"ro.soc.model": "SM8850L"}, nil, "SM8850L (v81)", "ro.soc.model", ""},
		{"an unknown chip", map[string]string{"ro.soc.model": "SM9999", "ro.soc.manufacturer": "QTI"}, nil, "", "",
			"ro.soc.model says SM9999, which is no chip that is known to have an HTP: set ESTREAM_QNN_SOC to one of the same generation, such as SM8750"},
		{"an unknown number", nil, map[string]string{id: "9999", family: "Snapdragon"}, "", "", id + " says 9999"},
		{"another maker's", map[string]string{"ro.soc.model": "Tensor G4", "ro.soc.manufacturer": "Google"}, map[string]string{id: "618", family: "jep106:0070"}, "", "", "no Qualcomm chip"},
		{"a computer", nil, nil, "", "", "no Qualcomm chip"},
	} {
		soc, where, err := in(t, "android/arm64", c.env, c.files).SoC()
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		require.Equal(t, []string{c.want, c.where}, []string{soc.String(), where}, c.name)
	}
}

func TestSoCs(t *testing.T) {
	for _, s := range SoCs() {
		byModel, ok := ByModel(s.Model)
		require.True(t, ok, s.Name)
		require.Equal(t, s, byModel)
		byName, ok := ByName(s.Name)
		require.True(t, ok, s.Name)
		require.Equal(t, s, byName)
	}
	for _, of := range aliases() {
		s, ok := ByName(of)
		require.True(t, ok && s.Name == of, of)
	}
	for id := range 1000 {
		if name := byKernel(itoa(id)); name != "" {
			s, ok := ByName(name)
			require.True(t, ok && s.Name == name, name)
		}
	}
	_, ok := ByModel(1)
	require.False(t, ok)
}

func TestFit(t *testing.T) {
	b := func(s string) Build {
		if s == "" {
			return Build{}
		}
		x, err := ParseBuild(s)
		require.NoError(t, err)
		return x
	}
	for _, c := range []struct {
		made, device Target
		want         string
	}{
		{Target{79, b(build47)}, Target{79, b(build47)}, ""},
		{Target{79, b(build47)}, Target{79, b(build51)}, ""},
		{Target{79, b(build51)}, Target{79, b(build47)},
			"graphs.bin: made for HTP v79, QAIRT 2.51.0.260929181845; the device has HTP v79, QAIRT 2.47.0.260601114230: a newer QAIRT: put libraries of 2.51.0.260929181845 or later on the device, or make it anew with 2.47.0.260601114230"},
		{Target{75, b(build47)}, Target{79, b(build51)},
			"graphs.bin: made for HTP v75, QAIRT 2.47.0.260601114230; the device has HTP v79, QAIRT 2.51.0.260929181845: another generation: make it anew for v79, or prepare graphs on the device"},
		{Target{81, b(build47)}, Target{79, b(build47)}, "another generation"},
		{Target{0, b(build47)}, Target{79, b("")}, ""},
		{Target{0, b(build51)}, Target{79, b(build47)}, "made for HTP of unknown generation"},
		{Target{79, b("")}, Target{75, b("")}, "another generation"},
		{Target{}, Target{}, ""},
	} {
		err := Fit("graphs.bin", c.made, c.device)
		if c.want == "" {
			require.NoError(t, err, "%v on %v", c.made, c.device)
			continue
		}
		require.ErrorContains(t, err, c.want)
		var m *Misfit
		require.ErrorAs(t, err, &m)
		require.Equal(t, []Target{c.made, c.device}, []Target{m.Made, m.Device})
	}
}

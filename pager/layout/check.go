package layout

import (
	"fmt"
	"math"
	"strings"
)

// Check reports the first thing in m that breaks a rule of the format, as an
// [*Error]. It looks at m alone, not at the files.
func (m *Manifest) Check() error {
	if err := checkVersion(m.Version); err != nil {
		return err
	}
	if err := checkAlign(m.Align); err != nil {
		return err
	}
	sizes, err := checkFiles(m.Files)
	if err != nil {
		return err
	}
	experts := bounds{ExpertsName, m.Align, sizes[ExpertsName]}
	dense := bounds{DenseName, m.Align, sizes[DenseName]}
	if err := experts.checkRecords(m.Experts, expertName); err != nil {
		return err
	}
	if err := dense.checkRecords(m.Dense, denseName); err != nil {
		return err
	}
	if err := m.checkLayers(); err != nil {
		return err
	}
	if err := dense.checkRegions(m.Rows); err != nil {
		return err
	}
	if err := m.checkOverlaps(); err != nil {
		return err
	}
	return checkArtifacts(m.Artifacts, sizes)
}

func checkVersion(v int) error {
	switch {
	case v > Version:
		return &Error{ManifestName, "version", fmt.Sprintf("made by a newer estream, format %d; this one reads %d", v, Version)}
	case v < 1:
		return &Error{ManifestName, "version", fmt.Sprintf("there is no format %d", v)}
	case v < Version:
		return &Error{ManifestName, "version", fmt.Sprintf("made by an older estream, format %d; this one reads %d: pack the checkpoint again", v, Version)}
	}
	return nil
}

// AlignRule says how an alignment in bytes breaks rule L1; empty: it does not.
func AlignRule(align int64) string {
	if align < minAlign || align > maxAlign || align&(align-1) != 0 {
		return fmt.Sprintf("%d is not a power of two from %d to %d", align, minAlign, maxAlign)
	}
	return ""
}

func checkAlign(align int64) error {
	if rule := AlignRule(align); rule != "" {
		return &Error{ManifestName, "align", rule}
	}
	return nil
}

// checkFiles gives the size of each file.
func checkFiles(files []FileSum) (map[string]int64, error) {
	sizes := make(map[string]int64, len(files))
	for _, f := range files {
		if err := checkFileName(f.Name); err != nil {
			return nil, err
		}
		if _, twice := sizes[f.Name]; twice {
			return nil, &Error{ManifestName, fmt.Sprintf("file %q", f.Name), "is there twice"}
		}
		if f.Size < 0 || f.Size > math.MaxInt64/2 {
			return nil, &Error{f.Name, "", fmt.Sprintf("size %d is impossible", f.Size)}
		}
		sizes[f.Name] = f.Size
	}
	for _, name := range []string{ExpertsName, DenseName} {
		if _, ok := sizes[name]; !ok {
			return nil, &Error{ManifestName, "files", name + " is not among them"}
		}
	}
	return sizes, nil
}

// checkFileName accepts names that mean a file in the package's own directory on
// every system.
func checkFileName(name string) error {
	control := func(r rune) bool { return r < ' ' }
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\:`) || strings.ContainsFunc(name, control) {
		return &Error{ManifestName, fmt.Sprintf("file %q", name), "is not the plain name of a file in the package"}
	}
	if name == ManifestName {
		return &Error{ManifestName, fmt.Sprintf("file %q", name), "is the manifest itself"}
	}
	return nil
}

func checkArtifacts(artifacts []Artifact, sizes map[string]int64) error {
	for i, a := range artifacts {
		size, listed := sizes[a.File]
		var rule string
		switch {
		case !listed || a.File == ExpertsName || a.File == DenseName:
			rule = fmt.Sprintf("file %q is no companion of the package", a.File)
		case a.Offset < 0 || a.Length < 1 || a.Offset > size || a.Length > size-a.Offset:
			rule = fmt.Sprintf("%d bytes at offset %d do not lie in %s, %d bytes long", a.Length, a.Offset, a.File, size)
		default:
			continue
		}
		return &Error{ManifestName, artifactName(i, a), rule}
	}
	return nil
}

func artifactName(i int, a Artifact) string { return fmt.Sprintf("artifact %d %q", i, a.Name) }

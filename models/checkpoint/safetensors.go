package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	extension  = ".safetensors"
	modelName  = "model" + extension
	configName = "config.json"
	maxConfig  = 16 << 20
)

// SafeTensors opens a .safetensors file, or a folder by its model.safetensors.index.json, else its
// model.safetensors. It opens no other weights of a folder. config.json is beside the weights. Tensors of 8-bit floats
// are read with their scales.
var SafeTensors = Format{
	Name: "safetensors", Doc: "a .safetensors file, or a folder with model.safetensors or its shards and their index",
	Extensions: []string{extension}, DTypes: []DType{"BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ"},
	Match: matchSafeTensors, Open: openSafeTensors,
}

func matchSafeTensors(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil && filepath.Ext(path) == extension
	}
	home := Folder{real: path}
	if home.has(indexName) || home.has(modelName) {
		return true
	}
	entries, _ := os.ReadDir(path)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return numberedName.MatchString(e.Name()) })
}

// safeTensors is an open checkpoint.
type safeTensors struct {
	home    Folder
	shards  []*shard
	tensors []Tensor
	at      map[string]place
	scales  map[string]scaling // of the tensors that have scales
	buffers sync.Pool          // of *Buffer
}

// A shard is one of its files.
type shard struct {
	*WeightFile
	name string // as its folder or the index spells it
}

// A place is where a tensor is.
type place struct {
	entry
	shard *shard
}

func openSafeTensors(path string, opt Options) (Checkpoint, error) {
	home, name, err := Locate(path)
	if err != nil {
		return nil, err
	}
	s := newSafeTensors(home)
	if err := s.load(name, opt); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	slices.SortFunc(s.tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	if err := s.findScales(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newSafeTensors(home Folder) *safeTensors {
	s := &safeTensors{home: home, at: map[string]place{}}
	s.buffers.New = func() any { return new(Buffer) }
	return s
}

// load opens the file of that name, or without a name the weights of the folder.
func (s *safeTensors) load(name string, opt Options) error {
	switch {
	case name != "":
		return s.add(name)
	case opt.IgnoreIndex:
		names, err := s.home.weights()
		if err != nil {
			return err
		}
		return s.add(names...)
	case s.home.has(indexName):
		return s.addIndexed()
	case s.home.has(modelName):
		return s.add(modelName)
	}
	return fmt.Errorf("checkpoint %s: numbered shards without %s; download it, or %s reads them: %w",
		s.home.path, indexName, remedy, ErrIncomplete)
}

func (s *safeTensors) addIndexed() error {
	x, err := readIndex(s.home)
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range x.shards() {
		if _, err := s.home.find(name); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, name)
		} else if err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return x.missing(missing, s.home)
	}
	if err := s.add(x.shards()...); err != nil {
		return err
	}
	return x.check(s.at, s.home)
}

// add opens files and takes in their tensors.
func (s *safeTensors) add(names ...string) error {
	for _, name := range names {
		file, err := s.home.OpenWeights(name)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", err, ErrIncomplete)
		}
		if err != nil {
			return err
		}
		sh := &shard{file, name}
		s.shards = append(s.shards, sh)
		entries, err := parseHeader(sh.Path, sh, sh.Size)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if other, ok := s.at[e.Name]; ok {
				return &FormatError{File: sh.Path, Tensor: e.Name, Rule: RuleTensor, Detail: other.shard.name + " holds it too"}
			}
			s.at[e.Name] = place{e, sh}
			s.tensors = append(s.tensors, e.Tensor)
		}
	}
	return nil
}

func (s *safeTensors) Config() ([]byte, error) {
	text, err := s.home.read(configName, maxConfig)
	if err == nil {
		err = s.refuse(quantizationOf(text))
	}
	return text, err
}

func (s *safeTensors) Tensors() []Tensor { return s.tensors }

func (s *safeTensors) Files() []File {
	files := make([]File, len(s.shards))
	for i, sh := range s.shards {
		files[i] = File{Path: sh.Path, Size: sh.Size}
	}
	return files
}

func (s *safeTensors) Close() error {
	var errs []error
	for _, sh := range s.shards {
		errs = append(errs, sh.Close())
	}
	return errors.Join(errs...)
}

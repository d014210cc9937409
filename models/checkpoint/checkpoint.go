// Package checkpoint reads the weights of a published model, tensor by tensor and row by row.
//
// A checkpoint comes from a stranger and may be larger than memory. So:
//
//	C1  no byte of it causes a panic, and no allocation exceeds a small multiple of a file's own size;
//	C2  whatever Tensors lists lies wholly inside its file: sizes are checked before any weight is read;
//	C3  nothing outside the checkpoint's folder, or the hub cache that holds it, is opened;
//	C4  weights are read by range, never mapped and never loaded whole: a Read holds one Buffer, and the
//	    scales of a row of blocks or a head of a matrix where what it gives is put together.
//
// A Checkpoint owns its open files until Close. Destination slices belong to the caller.
package checkpoint

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// A Format opens checkpoints of one kind. A plug-in adds a kind by passing its own value to Open; its
// Checkpoints may do more than they must: see Coder, Noter and Companion.
type Format struct {
	Name       string
	Doc        string   // one line for people: what a path of this format is
	Extensions []string // of its files: ".safetensors"
	DTypes     []DType  // element types whose values can be weights, sorted
	// Architectures are the names that files of this format have for entries of config.json's "architectures", as the
	// Config of its Checkpoints gives them.
	Architectures map[string]string
	// Match is a cheap look: is path, a file or a folder, of this format?
	Match func(path string) bool
	// Open reads the headers of the checkpoint at path, and no weights.
	Open func(path string, opt Options) (Checkpoint, error)
}

// Options change how a checkpoint is opened.
type Options struct {
	// IgnoreIndex reads the shards that are in a folder by their own headers instead of its index.
	// It is the remedy for ErrStaleIndex.
	IgnoreIndex bool
}

// A Checkpoint is an open set of weight files. Its methods may be called concurrently, Close excepted.
type Checkpoint interface {
	// Config returns the bytes of config.json. It has not been parsed.
	Config() ([]byte, error)
	// Tensors lists all tensors, sorted by name. The caller must not change the list.
	Tensors() []Tensor
	// Read decodes rows [row, row+rows) of the first dimension of a tensor to float32, rounding to nearest where
	// the stored type is wider. An element is a row of a 1-D tensor, and row 0 is all of a scalar.
	// dst must have exactly as many elements as the rows hold.
	Read(ctx context.Context, name string, row, rows int, dst []float32) error
	// Files lists the weight files in the order of their names.
	Files() []File
	Close() error
}

// A Tensor describes stored weights. Shape counts logical elements, packed types included.
type Tensor struct {
	Name   string
	DType  DType
	Shape  []int
	Bytes  int64  // stored size
	Aside  string // why this is no weight by itself ("scales that are applied"), or ""
	Opaque string // why Read does not give the weights ("codes, whose scales are not applied", and a remedy), or ""
}

// A File is a weight file: its path as the caller would reach it, links not followed, and its size in bytes.
type File struct {
	Path string
	Size int64
}

// Open opens path with the first format that matches it. Where none does, the error lists the formats tried and
// what is at path.
func Open(path string, opt Options, formats ...Format) (Checkpoint, error) {
	names := make([]string, len(formats))
	for i, f := range formats {
		if f.Match(path) {
			return f.Open(path, opt)
		}
		names[i] = f.Name
	}
	seen, err := look(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, cause(err))
	}
	return nil, fmt.Errorf("checkpoint %s: %s; known formats: %s", path, seen, list(names, len(names)))
}

// look describes what is at path.
func look(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return fmt.Sprintf("a file of %d bytes of no known format", info.Size()), nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return "no known weights in the folder, which holds " + list(names, 8), nil
}

// list writes names as a sentence has them, each cut to what fits a message, those past the first n only counted.
func list(names []string, n int) string {
	if len(names) == 0 {
		return "nothing"
	}
	var text []string
	for _, name := range names[:min(n, len(names))] {
		text = append(text, fmt.Sprintf("%.80s", name))
	}
	s := strings.Join(text, ", ")
	if rest := len(names) - n; rest > 0 {
		s += fmt.Sprintf(" and %d more", rest)
	}
	return s
}

package pack

import (
	"bytes"
	"fmt"
	"slices"

	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/runtime/tokenizer"
)

const tokenizerName = "tokenizer.json"

// Companions are the files of a checkpoint that a package keeps beside the
// weights, where they are there.
var Companions = []string{tokenizerName, "tokenizer_config.json", "chat_template.jinja"}

// maxCompanion is how many bytes a companion of a checkpoint may have.
const maxCompanion = 64 << 20

// A companion is a file to put beside the weights. One of a checkpoint is held in
// memory: what was checked is what is written.
type companion struct {
	name string
	size int64
	read func() ([]byte, error)
}

// companionsOf reads those that the checkpoint at path has. A tokenizer may have
// fewer ids than the model has rows for, which are padding then, but not more.
func companionsOf(ckpt checkpoint.Checkpoint, path string, vocab int) ([]companion, error) {
	var out []companion
	for _, name := range Companions {
		data, found, err := checkpoint.CompanionOf(ckpt, path, name, maxCompanion)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if name == tokenizerName {
			if data, err = tokenizerOf(ckpt, path, data, vocab); err != nil {
				return nil, err
			}
		}
		out = append(out, companion{name, int64(len(data)), func() ([]byte, error) { return data, nil }})
	}
	return out, nil
}

// tokenizerOf returns a tokenizer that fits the model: data, or one beside a
// checkpoint whose own does not.
func tokenizerOf(ckpt checkpoint.Checkpoint, path string, data []byte, vocab int) ([]byte, error) {
	if _, own := ckpt.(checkpoint.Companion); !own {
		if err := fits(tokenizerName, data, vocab); err != nil {
			return nil, fmt.Errorf("%w; move the file away to pack without it and give token ids", err)
		}
		return data, nil
	}
	err := fits("the file's own "+tokenizerName, data, vocab)
	if err == nil {
		return data, nil
	}
	beside, found, other := checkpoint.Beside(path, tokenizerName, maxCompanion)
	if found {
		other = fits(tokenizerName, beside, vocab)
	}
	if !found && other == nil {
		other = err
	}
	if other != nil {
		return nil, fmt.Errorf("%w; put the model's %s beside the file", other, tokenizerName)
	}
	return beside, nil
}

func fits(name string, data []byte, vocab int) error {
	t, err := tokenizer.Parse(name, data)
	if err == nil && t.Size() > vocab {
		err = fmt.Errorf("%s has ids up to %d, the model rows for %d tokens: it is another model's", name, t.Size()-1, vocab)
	}
	return err
}

func (c companion) write(w *layout.Writer) error {
	data, err := c.read()
	if err != nil {
		return err
	}
	return w.Companion(c.name, bytes.NewReader(data))
}

// companionNames are those that a writer may find, or write.
func (j *job) companionNames() []string {
	var names []string
	for _, c := range j.companions {
		names = append(names, c.name)
	}
	for _, name := range Companions {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// besideBytes is about what companions, manifest and journal take.
func (j *job) besideBytes() int64 {
	n := int64(64<<10 + len(j.man.Module) + len(j.man.Config) + 512*(len(j.man.Experts)+len(j.man.Dense)+len(j.tasks)))
	for _, c := range j.companions {
		n += c.size
	}
	return n
}

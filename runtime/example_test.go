package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	"estream/lower"
	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/runtime"
	"estream/runtime/tokenizer"
	"estream/tools/pack"
)

// Open a package, run a prompt and print the likeliest next token.
func Example() {
	dir, remove := examplePackage()
	defer remove()

	ctx := context.Background()
	m, err := runtime.Open(ctx, dir, runtime.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	data, err := m.Companion("tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	tok, err := tokenizer.Parse("tokenizer.json", data)
	if err != nil {
		log.Fatal(err)
	}
	prompt, err := tok.Encode("And the LORD said unto", true)
	if err != nil {
		log.Fatal(err)
	}
	res, err := m.Run(ctx, runtime.Batch{Prompts: [][]int32{prompt}})
	if err != nil {
		log.Fatal(err)
	}
	next := slices.Index(res.Logits, slices.Max(res.Logits))
	text, err := tok.Decode([]int32{int32(next)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", text)
	// Output: " Moses"
}

// The zero Options is right for most uses. A folder that is no package is refused.
func ExampleOpen() {
	dir, remove := examplePackage()
	defer remove()

	m, err := runtime.Open(context.Background(), dir, runtime.Options{Threads: 2, Readers: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Manifest().Family, m.Vocab())

	_, err = runtime.Open(context.Background(), filepath.Join(dir, "other"), runtime.Options{})
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// olmoe 2048
	// true
}

// Prompts of different lengths run together. Offsets tells which rows of the
// logits are whose.
func ExampleModel_Run() {
	m, closeModel := exampleModel(runtime.Options{})
	defer closeModel()

	res, err := m.Run(context.Background(), runtime.Batch{
		Prompts: [][]int32{{510, 247, 273}, {12}, {40, 41}},
		Logits:  runtime.All,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Offsets, len(res.Logits)/res.Vocab)
	// Output: [0 3 4 6] 6
}

// A plan says what memory a batch takes before it runs. What does not fit
// Options.Memory is refused.
func ExampleModel_Plan() {
	m, closeModel := exampleModel(runtime.Options{Memory: 4 << 10})
	defer closeModel()

	_, err := m.Plan(runtime.Batch{Prompts: [][]int32{{510, 247, 273}}})
	fmt.Println(errors.Is(err, runtime.ErrMemory))
	// Output: true
}

// Each sees the logits of all positions without holding them at once: here for
// the perplexity of a text.
func ExampleBatch_each() {
	m, closeModel := exampleModel(runtime.Options{})
	defer closeModel()
	data, err := m.Companion("tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	tok, err := tokenizer.Parse("tokenizer.json", data)
	if err != nil {
		log.Fatal(err)
	}
	ids, err := tok.Encode("In the beginning God created the heaven and the earth.", true)
	if err != nil {
		log.Fatal(err)
	}
	loss := 0.0
	_, err = m.Run(context.Background(), runtime.Batch{Prompts: [][]int32{ids}, Logits: runtime.All, Each: func(row int, logits []float32) error {
		if row == len(ids)-1 {
			return nil // nothing follows the last token
		}
		sum, most := 0.0, slices.Max(logits)
		for _, x := range logits {
			sum += math.Exp(float64(x - most))
		}
		loss += math.Log(sum) - float64(logits[ids[row+1]]-most)
		return nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("perplexity %.0f over %d tokens\n", math.Exp(loss/float64(len(ids)-1)), len(ids)-1)
	// Output: perplexity 37 over 11 tokens
}

// Taps look at values on their way: here at the experts that the last layer
// chooses for each token.
func ExampleOptions_tap() {
	m, closeModel := exampleModel(runtime.Options{
		Taps: []string{"experts.ids"},
		Tap: func(t runtime.Tap) {
			if t.Layer == 3 {
				fmt.Println(t.Buffer.Type, lower.I32(t.Buffer.Bytes()))
			}
		},
	})
	defer closeModel()
	if _, err := m.Run(context.Background(), runtime.Batch{Prompts: [][]int32{{510, 247}}}); err != nil {
		log.Fatal(err)
	}
	// Output: i32[2,4] [2 0 10 3 2 10 4 12]
}

// exampleModel opens a package that is removed when the model is closed.
func exampleModel(o runtime.Options) (m *runtime.Model, closeModel func()) {
	dir, remove := examplePackage()
	m, err := runtime.Open(context.Background(), dir, o)
	if err != nil {
		log.Fatal(err)
	}
	return m, func() {
		if err := m.Close(); err != nil {
			log.Fatal(err)
		}
		remove()
	}
}

// examplePackage packs the small trained model.
func examplePackage() (dir string, remove func()) {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(tmp, "small.estream")
	e, err := pack.FindEncoding("w8")
	if err != nil {
		log.Fatal(err)
	}
	_, err = pack.Run(context.Background(), trained, dir, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(tmp) }
}

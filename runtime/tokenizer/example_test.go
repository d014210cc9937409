package tokenizer_test

import (
	"fmt"

	"estream/runtime/tokenizer"
)

func Example() {
	tok, err := tokenizer.Open("testdata/mixtral.tokenizer.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := tok.Encode("the 👍", true)
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := tok.Stream()
	for _, id := range ids {
		token, _ := tok.Token(id)
		fmt.Printf("%d %s %q\n", id, token, stream.Push(id))
	}
	// Output:
	// 1 <s> "<s>"
	// 266 ▁the " the"
	// 708 ▁ " "
	// 243 <0xF0> ""
	// 162 <0x9F> ""
	// 148 <0x91> ""
	// 144 <0x8D> "👍"
}

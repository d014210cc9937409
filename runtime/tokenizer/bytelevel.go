package tokenizer

import "strings"

// The byte alphabet gives each byte a visible character, so that a vocabulary of byte strings can be JSON:
// the visible ones of Latin-1 stand for themselves, the others for U+0100 on, in order.

func byteRune(b byte) rune {
	switch {
	case b <= ' ':
		return 0x100 + rune(b)
	case b >= 0x7f && b <= 0xa0:
		return 0x121 + rune(b-0x7f)
	case b == 0xad:
		return 0x143
	}
	return rune(b)
}

// runeByte is the inverse of byteRune.
func runeByte(r rune) (b byte, ok bool) {
	switch {
	case r >= 0x100 && r <= 0x120:
		return byte(r - 0x100), true
	case r >= 0x121 && r <= 0x142:
		return byte(r - 0x121 + 0x7f), true
	case r == 0x143:
		return 0xad, true
	case r > 0xff:
		return 0, false
	}
	return byte(r), byteRune(byte(r)) == r
}

// toByteAlphabet writes each byte as its character.
func toByteAlphabet(p piece) piece {
	var out strings.Builder
	out.Grow(2 * len(p.text))
	for i := range len(p.text) {
		out.WriteRune(byteRune(p.text[i]))
	}
	return piece{out.String(), p.first}
}

// fromByteAlphabet returns the bytes of a token, which stays as it is if a character of it is no byte's.
func fromByteAlphabet(token string) string {
	out := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := runeByte(r)
		if !ok {
			return token
		}
		out = append(out, b)
	}
	return string(out)
}

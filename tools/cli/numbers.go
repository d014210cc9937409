package cli

import (
	"regexp"
	"strconv"
)

// oneOrRange is a whole number, or a range of them: first-last, first-last+step or
// first-last*factor.
var oneOrRange = regexp.MustCompile(`^(\d+)(?:-(\d+)(?:([+*])(\d+))?)?$`)

// mostNumbers bounds what a list of ranges stands for.
const mostNumbers = 1000

// numbers reads the words of a flag, each from least to most.
func numbers(flag string, words []string, least, most int) ([]int, error) {
	var out []int
	for _, w := range words {
		m := oneOrRange.FindStringSubmatch(w)
		if m == nil {
			return nil, usagef("--%s: %q is no number, nor a range such as 128-2048*2", flag, w)
		}
		first, last, step := atoi(m[1], most), atoi(m[1], most), 1
		if m[2] != "" {
			last = atoi(m[2], most)
		}
		if m[4] != "" {
			step = atoi(m[4], most)
		}
		if first < least || last > most || first > last || step < 1 || m[3] == "*" && step < 2 {
			return nil, usagef("--%s: %q: want %d to %d, rising", flag, w, least, most)
		}
		for n := first; n <= last; {
			if out = append(out, n); len(out) > mostNumbers {
				return nil, usagef("--%s stands for more than %d numbers", flag, mostNumbers)
			}
			if m[3] == "*" {
				n *= step
			} else {
				n += step
			}
		}
	}
	return out, nil
}

// lengths reads the lengths of prompts that a flag lists, at least one.
func lengths(flag string, words []string) ([]int, error) {
	if len(words) == 0 {
		return nil, usagef("--%s: no length given", flag)
	}
	return numbers(flag, words, 1, 1<<20)
}

// atoi reads digits; what does not fit is more than most.
func atoi(digits string, most int) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return most + 1
	}
	return min(n, most+1)
}

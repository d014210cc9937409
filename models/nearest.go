package models

import (
	"maps"
	"slices"
	"strings"
)

// nearest words which name of the table is most like that of a tensor that
// nothing reads. Names are compared without their numbers, so the time does not
// depend on how many layers and experts there are.
func (m *Model) nearest(tensor string) string {
	plain, numbers := withoutNumbers(tensor[:min(200, len(tensor))])
	best, least := "", len(tensor)+1
	for _, w := range slices.Sorted(maps.Keys(m.weights)) {
		for _, s := range m.weights[w].From {
			name := strings.NewReplacer("{l}", "#", "{e}", "#").Replace(s.Name)
			if d := distance(plain, name); d < least {
				best, least = name, d
			}
		}
	}
	switch {
	case best == "":
		return ""
	case least == 0:
		return " (one too many: beyond config.json's layers and experts, or there under another name)"
	}
	for _, n := range numbers {
		best = strings.Replace(best, "#", n, 1)
	}
	return ` (nearest: "` + best + `")`
}

// withoutNumbers puts a # for each number between dots, and returns the numbers.
func withoutNumbers(name string) (plain string, numbers []string) {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			numbers = append(numbers, p)
			parts[i] = "#"
		}
	}
	return strings.Join(parts, "."), numbers
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

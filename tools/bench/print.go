package bench

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// A Printer prints results in some format, each as it comes.
type Printer interface {
	Print(r *Result) error
	Close() error // prints what comes last
}

// Formats are those of NewPrinter, as llama-bench has them but for SQL, and
// benchstat, the lines of Go's benchmarks.
func Formats() []string { return []string{"md", "csv", "json", "jsonl", "benchstat"} }

// NewPrinter returns the printer of a format for results of o; nil if there is no
// such format.
func NewPrinter(format string, w io.Writer, o Options) Printer {
	switch format {
	case "md":
		return &markdown{w: w, columns: columns(o)}
	case "csv":
		return &csvPrinter{csv.NewWriter(w), false}
	case "json":
		return &jsonPrinter{w: w, separator: "[\n"}
	case "jsonl":
		return jsonLines{w}
	case "benchstat":
		return &benchstat{w: w}
	}
	return nil
}

// csvPrinter has a column for each field that is one value.
type csvPrinter struct {
	w     *csv.Writer
	begun bool
}

func (p *csvPrinter) Print(r *Result) error {
	var names, values []string
	v := reflect.ValueOf(r).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		text, ok := cell(v.FieldByIndex(f.Index))
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); ok && name != "" {
			names, values = append(names, name), append(values, text)
		}
	}
	if !p.begun {
		p.begun = true
		if err := p.w.Write(names); err != nil {
			return err
		}
	}
	if err := p.w.Write(values); err != nil {
		return err
	}
	p.w.Flush()
	return p.w.Error()
}

// cell is a field as text, empty for null, 0 or 1 for a truth as llama-bench has it;
// false for one of several values.
func cell(v reflect.Value) (string, bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if k := v.Type().Elem().Kind(); k == reflect.Struct || v.IsNil() {
			return "", k != reflect.Struct
		}
		return cell(v.Elem())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', 6, 64), true
	case reflect.Bool:
		if v.Bool() {
			return "1", true
		}
		return "0", true
	case reflect.Slice, reflect.Map, reflect.Struct:
		return "", false
	}
	return fmt.Sprint(v.Interface()), true
}

func (p *csvPrinter) Close() error { return nil }

// jsonPrinter prints one array.
type jsonPrinter struct {
	w         io.Writer
	separator string // before the next object
}

func (p *jsonPrinter) Print(r *Result) error {
	text, err := json.MarshalIndent(r, "  ", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s  %s", p.separator, text)
	p.separator = ",\n"
	return err
}

func (p *jsonPrinter) Close() error {
	end := "\n]\n"
	if p.separator != ",\n" {
		end = "[\n]\n"
	}
	_, err := io.WriteString(p.w, end)
	return err
}

// jsonLines prints an object a line.
type jsonLines struct{ w io.Writer }

func (p jsonLines) Print(r *Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.w, "%s\n", text)
	return err
}

func (p jsonLines) Close() error { return nil }

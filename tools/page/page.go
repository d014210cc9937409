// Package page writes a lowered package as one HTML page to look at: what is in
// it, its graphs after each pass, and where every weight of every expert lies.
//
// The page needs no network and no server: style, script and the layout library
// dagre are within it. What holds of it:
//
//	H1 the same package and program give the same bytes; only a plan depends on the machine
//	H2 its columns end in the module that the package stores, or it says why they cannot
//	H3 nothing from a package, which may be a stranger's, becomes markup or script
//	H4 its size grows with the classes of layers and the records, not with the layers' graphs
//
// Nothing is kept in memory after Write returns, and no weight is read.
package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/models"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
	"estream/tools/pack"
)

//go:embed assets
var assets embed.FS

// A Source is what a page is made of.
type Source struct {
	Name     string           // the page's title: the package's, or its config's
	Manifest *layout.Manifest // as read, or as planned; it is not changed
	Planned  bool             // nothing is written yet: there are no checksums and factors
	Vocab    int              // rows of the embedding table
	Ops      ir.Ops           // that the module may use
	Packing  lower.Packing    // the manifest's
	Families []models.Family  // among which the manifest's is looked for
	Host     lower.Backend    // what runs what no other backend does
	Backends []Backend        // whose coverage is shown
	Census   *pack.Census
	Plan     *runtime.Plan // nil: none is known
}

// A Backend is one whose coverage of the package is shown. One that is a
// [runtime.Device] runs beside the host, another in its place.
type Backend struct {
	lower.Backend
	Doc string // one line
}

// A view is what the template shows.
type view struct {
	Source
	Summary  summary
	Outlook  outlook
	Coverage []coverage
	Note     string // why columns are missing
	Style    template.CSS
	Dagre    template.JS
	Script   template.JS
	Data     template.JS // a document, as JSON
}

// A document is what the script of the page reads.
type document struct {
	Columns []column           `json:"columns"`
	Stored  int                `json:"stored"` // the column of the module that the package stores
	Ops     map[string]string  `json:"ops"`    // what an operator's result is, by its name
	Policy  map[string]string  `json:"policy"` // why a weight has its type, by its name
	Layers  []string           `json:"layers"` // the class of each layer
	Callees map[string]string  `json:"callees"`
	Records map[string]*record `json:"records"` // by class
	Flash   flash              `json:"flash"`
	Planned bool               `json:"planned"`
	Group   int                `json:"group"` // experts a read
}

// Write writes the page of s. It fails where the manifest's module is none, or not
// one that the manifest's records fit.
func Write(w io.Writer, s Source) error {
	v, err := look(s)
	if err != nil {
		return fmt.Errorf("page of %s: %w", s.Name, err)
	}
	t, err := template.New("page.html").Funcs(functions()).ParseFS(assets, "assets/page.html")
	if err != nil {
		return err
	}
	return t.Execute(w, v)
}

// look gathers what the page of s shows.
func look(s Source) (*view, error) {
	stored, err := ir.Parse(s.Manifest.Module, s.Ops)
	if err == nil {
		err = stored.Verify()
	}
	if err != nil {
		return nil, err
	}
	records, err := passes.Records(stored, s.Packing)
	if err != nil {
		return nil, err
	}
	stages, at, note := s.stages(stored)
	v := &view{Source: s, Note: note}
	doc := document{Columns: columns(stages), Stored: at, Ops: map[string]string{}, Policy: s.policy(), Layers: stored.Layers, Planned: s.Planned, Group: max(1, s.arena().Group)}
	for name, op := range s.Ops {
		doc.Ops[name] = op.Doc
	}
	doc.Callees = callees(stored)
	if doc.Records, err = s.records(records); err != nil {
		return nil, err
	}
	doc.Flash = s.flash()
	v.Summary = s.summarize(stored)
	v.Outlook = s.outlook(stored, v.Summary.Classes)
	v.Coverage = s.coverage(stored)
	return v, v.embed(doc)
}

// embed fills in what is not text of the page. JSON from the encoder has no <, >
// or &, so that it cannot end the script it stands in.
func (v *view) embed(doc document) error {
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	v.Data = template.JS(data)
	var texts [4]string
	for i, name := range []string{"page.css", "dagre.LICENSE", "dagre.min.js", "page.js"} {
		b, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		texts[i] = string(b)
	}
	v.Style, v.Script = template.CSS(texts[0]), template.JS(texts[3])
	v.Dagre = template.JS("/*! dagre\n" + strings.TrimSpace(texts[1]) + "\n*/\n" + texts[2])
	return nil
}

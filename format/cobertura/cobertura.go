// Package cobertura writes coverage in the XML format of Cobertura, which Jenkins, GitLab, Azure
// DevOps and diff-cover read. It is pure.
//
// The format is that of Cobertura's coverage-04.dtd
// (https://github.com/cobertura/cobertura/blob/master/cobertura/src/site/htdocs/xml/coverage-04.dtd),
// a copy of which is in testdata:
//
//	<coverage line-rate="0.5" branch-rate="0" lines-covered="1" lines-valid="2" ...>
//	  <sources><source>.</source></sources>
//	  <packages>
//	    <package name="src" line-rate="0.5" branch-rate="0" complexity="0">
//	      <classes>
//	        <class name="a.c" filename="src/a.c" line-rate="0.5" branch-rate="0" complexity="0">
//	          <methods>
//	            <method name="main" signature="" line-rate="1" branch-rate="0" complexity="0">
//	              <lines><line number="3" hits="1" branch="false"/></lines>
//	            </method>
//	          </methods>
//	          <lines>
//	            <line number="3" hits="1" branch="false"/>
//	            <line number="4" hits="0" branch="false"/>
//	          </lines>
//	        </class>
//	      </classes>
//	    </package>
//	  </packages>
//	</coverage>
//
// A package is a directory, and a class a source file. A method has the line of its definition only.
// Readers look for filename below each source. There are no branches: their counts are 0.
package cobertura

import (
	"bufio"
	"encoding/xml"
	"io"
	"path"
	"strconv"
)

// Report is the content of a file.
type Report struct {
	Version   string   // of the program that writes it
	Timestamp int64    // in milliseconds since 1970; readers sort by it
	Sources   []string // directories below which relative file names are
	Files     []File
}

// File is a source file.
type File struct {
	Name      string
	Functions []Function
	Lines     []Line // ascending
}

// Function is a function, by the line of its definition.
type Function struct {
	Name string
	Line int
	Hits uint64
}

// Line is a line with code.
type Line struct {
	Number int
	Hits   uint64
}

// tally counts lines and those that were hit.
type tally struct{ hit, all int }

func (t *tally) add(hits uint64) {
	t.all++
	if hits > 0 {
		t.hit++
	}
}

// rate returns the share that was hit, 1 if there are no lines, as in Cobertura.
func (t tally) rate() string {
	if t.all == 0 {
		return "1"
	}
	return strconv.FormatFloat(float64(t.hit)/float64(t.all), 'f', -1, 64)
}

// Write writes a report. Files of one directory should follow one another.
func Write(w io.Writer, r *Report) error {
	x := &writer{w: bufio.NewWriter(w)}
	tallies := make([]tally, len(r.Files))
	var total tally
	for i := range r.Files {
		for _, l := range r.Files[i].Lines {
			tallies[i].add(l.Hits)
			total.add(l.Hits)
		}
	}
	x.raw(xml.Header + `<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">` + "\n")
	x.open("coverage", "line-rate", total.rate(), "branch-rate", "0", "lines-covered", strconv.Itoa(total.hit), "lines-valid", strconv.Itoa(total.all),
		"branches-covered", "0", "branches-valid", "0", "complexity", "0", "version", r.Version, "timestamp", strconv.FormatInt(r.Timestamp, 10))
	x.open("sources")
	for _, s := range r.Sources {
		x.text("source", s)
	}
	x.close("sources")
	x.open("packages")
	for i := 0; i < len(r.Files); {
		dir, end, sum := path.Dir(r.Files[i].Name), i, tally{}
		for ; end < len(r.Files) && path.Dir(r.Files[end].Name) == dir; end++ {
			sum.hit, sum.all = sum.hit+tallies[end].hit, sum.all+tallies[end].all
		}
		x.open("package", "name", dir, "line-rate", sum.rate(), "branch-rate", "0", "complexity", "0")
		x.open("classes")
		for ; i < end; i++ {
			x.file(&r.Files[i], tallies[i])
		}
		x.close("classes")
		x.close("package")
	}
	x.close("packages")
	x.close("coverage")
	return x.w.Flush()
}

// writer writes elements, indented.
type writer struct {
	w     *bufio.Writer
	depth int
}

func (x *writer) file(f *File, t tally) {
	x.open("class", "name", path.Base(f.Name), "filename", f.Name, "line-rate", t.rate(), "branch-rate", "0", "complexity", "0")
	x.open("methods")
	for _, fn := range f.Functions {
		var hit tally
		hit.add(fn.Hits)
		x.open("method", "name", fn.Name, "signature", "", "line-rate", hit.rate(), "branch-rate", "0", "complexity", "0")
		x.open("lines")
		x.line(fn.Line, fn.Hits)
		x.close("lines")
		x.close("method")
	}
	x.close("methods")
	x.open("lines")
	for _, l := range f.Lines {
		x.line(l.Number, l.Hits)
	}
	x.close("lines")
	x.close("class")
}

func (x *writer) line(number int, hits uint64) {
	x.indent()
	x.raw(`<line number="` + strconv.Itoa(number) + `" hits="` + strconv.FormatUint(hits, 10) + `" branch="false"/>` + "\n")
}

func (x *writer) raw(s string) { x.w.WriteString(s) }

func (x *writer) indent() {
	for range x.depth {
		x.raw("  ")
	}
}

func (x *writer) escape(s string) { xml.EscapeText(x.w, []byte(s)) } // bufio keeps the error

// open begins an element with pairs of a name and a value.
func (x *writer) open(name string, attributes ...string) {
	x.indent()
	x.raw("<" + name)
	for i := 0; i < len(attributes); i += 2 {
		x.raw(" " + attributes[i] + `="`)
		x.escape(attributes[i+1])
		x.raw(`"`)
	}
	x.raw(">\n")
	x.depth++
}

func (x *writer) close(name string) {
	x.depth--
	x.indent()
	x.raw("</" + name + ">\n")
}

func (x *writer) text(name, text string) {
	x.indent()
	x.raw("<" + name + ">")
	x.escape(text)
	x.raw("</" + name + ">\n")
}

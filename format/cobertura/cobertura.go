// Package cobertura writes coverage in the XML format of Cobertura, which Jenkins, GitLab, Azure
// DevOps and diff-cover read. It is pure.
//
// The format is that of Cobertura's coverage-04.dtd
// (https://github.com/cobertura/cobertura/blob/master/cobertura/src/site/htdocs/xml/coverage-04.dtd),
// a copy of which is in testdata:
//
//	<coverage line-rate="0.5" branch-rate="1" lines-covered="1" lines-valid="2" ...>
//	  <sources><source>.</source></sources>
//	  <packages>
//	    <package name="src" line-rate="0.5" branch-rate="1" complexity="0">
//	      <classes>
//	        <class name="a.c" filename="src/a.c" line-rate="0.5" branch-rate="1" complexity="0">
//	          <methods>
//	            <method name="main" signature="" line-rate="1" branch-rate="1" complexity="0">
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
// Readers look for filename below each source.
//
// A line with branches has the share of their ways that were taken:
//
//	<line number="3" hits="1" branch="true" condition-coverage="50% (1/2)">
//	  <conditions><condition number="0" type="jump" coverage="50%"/></conditions>
//	</line>
//
// As in Cobertura, a rate of nothing is 1: of the branches of a file without known branches, say, whose
// number in branches-valid is 0.
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
	Number   int
	Hits     uint64
	Branches []Branch
}

// Branch is a condition of a line.
type Branch struct {
	Taken, Ways int // of Ways, at least 1, of which it is known whether they were taken
}

// tally counts lines and those that were hit.
type tally struct{ hit, all int }

func (t *tally) add(hits uint64) {
	t.all++
	if hits > 0 {
		t.hit++
	}
}

func (t tally) plus(u tally) tally { return tally{t.hit + u.hit, t.all + u.all} }

// percent returns the share that was hit as conditions have it, rounded down so that only all is 100%.
func (t tally) percent() string { return strconv.Itoa(100*t.hit/max(t.all, 1)) + "%" }

// totals are the tallies of a file, or of several.
type totals struct{ lines, branches tally }

func (t totals) plus(u totals) totals {
	return totals{t.lines.plus(u.lines), t.branches.plus(u.branches)}
}

// rates returns the attributes for the rates of lines and branches.
func (t totals) rates() []string {
	return []string{"line-rate", t.lines.rate(), "branch-rate", t.branches.rate()}
}

func (l *Line) branches() (t tally) {
	for _, b := range l.Branches {
		t = t.plus(tally{b.Taken, b.Ways})
	}
	return t
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
	all := make([]totals, len(r.Files))
	var total totals
	for i := range r.Files {
		for k := range r.Files[i].Lines {
			l := &r.Files[i].Lines[k]
			all[i].lines.add(l.Hits)
			all[i].branches = all[i].branches.plus(l.branches())
		}
		total = total.plus(all[i])
	}
	x.raw(xml.Header + `<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">` + "\n")
	x.open("coverage", append(total.rates(), "lines-covered", strconv.Itoa(total.lines.hit), "lines-valid", strconv.Itoa(total.lines.all),
		"branches-covered", strconv.Itoa(total.branches.hit), "branches-valid", strconv.Itoa(total.branches.all),
		"complexity", "0", "version", r.Version, "timestamp", strconv.FormatInt(r.Timestamp, 10))...)
	x.open("sources")
	for _, s := range r.Sources {
		x.text("source", s)
	}
	x.close("sources")
	x.open("packages")
	for i := 0; i < len(r.Files); {
		dir, end, sum := path.Dir(r.Files[i].Name), i, totals{}
		for ; end < len(r.Files) && path.Dir(r.Files[end].Name) == dir; end++ {
			sum = sum.plus(all[end])
		}
		x.open("package", append(append([]string{"name", dir}, sum.rates()...), "complexity", "0")...)
		x.open("classes")
		for ; i < end; i++ {
			x.file(&r.Files[i], all[i])
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

func (x *writer) file(f *File, t totals) {
	x.open("class", append(append([]string{"name", path.Base(f.Name), "filename", f.Name}, t.rates()...), "complexity", "0")...)
	x.open("methods")
	for _, fn := range f.Functions {
		var t totals
		t.lines.add(fn.Hits)
		x.open("method", append(append([]string{"name", fn.Name, "signature", ""}, t.rates()...), "complexity", "0")...)
		x.open("lines")
		x.line(&Line{Number: fn.Line, Hits: fn.Hits})
		x.close("lines")
		x.close("method")
	}
	x.close("methods")
	x.open("lines")
	for i := range f.Lines {
		x.line(&f.Lines[i])
	}
	x.close("lines")
	x.close("class")
}

func (x *writer) line(l *Line) {
	x.indent()
	x.raw(`<line number="` + strconv.Itoa(l.Number) + `" hits="` + strconv.FormatUint(l.Hits, 10) + `"`)
	t := l.branches()
	if t.all == 0 {
		x.raw(` branch="false"/>` + "\n")
		return
	}
	x.raw(` branch="true" condition-coverage="` + t.percent() + ` (` + strconv.Itoa(t.hit) + `/` + strconv.Itoa(t.all) + `)"><conditions>`)
	for i, b := range l.Branches {
		x.raw(`<condition number="` + strconv.Itoa(i) + `" type="jump" coverage="` + tally{b.Taken, b.Ways}.percent() + `"/>`)
	}
	x.raw("</conditions></line>\n")
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

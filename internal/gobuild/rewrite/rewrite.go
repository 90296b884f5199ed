// Package rewrite puts probes into the source text of Go packages. It inserts text at
// byte offsets and never adds or removes a line, so that positions in panics, in debug
// information and in compiler errors stay the same.
//
// A probe is an assignment to an element of the array Counters of its package:
//
//	_cairn_c[3] = 1            // mode cover, and block: a flag
//	_cairn_c[3] = _cairn_f(3)  // mode order: the first execution goes to the runtime
//	_cairn_c[6] = _cairn_n(6)  // mode count: the number of calls, downwards
//	_cairn_c[6] = _cairn_m(6)  // mode count, in a function that calls nothing: without a call
//	_cairn_c[3] = _cairn_c[3] - _cairn_n(3) // mode count with a copy for each processor
//
// The compiler's inliner does not charge assignments to coverage counters (see
// cmd/compile/internal/inline, OAS), regardless of their right side. The build declares
// Counters as an array of coverage counters, so probes change no decision about inlining.
package rewrite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Names in generated code.
const (
	Counters = "_cairn_c"
	prefix   = "_cairn_"

	// Counted and CountedAlone are the functions that probes of mode count call where the
	// compiler does not inline them.
	Counted      = prefix + "n"
	CountedAlone = prefix + "m"
)

// Options say which probes a package gets.
type Options struct {
	Mode prof.Mode
	// Atomic counts calls by atomic instructions, in package runtime.
	Atomic bool
	// LoadOnce is set for machines whose instructions have no operands in memory: a probe keeps
	// what it has loaded.
	LoadOnce bool
	// Wide gives each record of mode count one element of 64 bits instead of two of 32. The link step
	// makes the instructions that use it those of 32 bits; see package percpu.
	Wide bool
	// Race is set in builds for the race detector: all writes are in package runtime,
	// which the detector does not watch.
	Race bool
	// Inlinable are the functions that the compiler can inline, by the place after the keyword
	// func, or of the keyword of a literal. In timed modes they get no probes.
	Inlinable map[Place]bool
	// Closures are places of closures that the compiler made, among them the bodies of ranges
	// over functions, by the keyword for.
	Closures map[Place]bool
	// Small is the number of syntax nodes below which functions that cannot wait get no probes
	// in timed modes; with 0 all get probes. Probed reports whether a package has probes.
	Small  int
	Probed func(importPath string) bool
}

// Lines is a range of lines of the function's file, both ends included.
type Lines struct{ From, To int }

// Func is a function that has a probe.
type Func struct {
	// Name is the name of the function in the symbol table, without its package: F,
	// T.M, or (*T).M.
	Name    string
	File    string // as it is in debug information
	Line    int
	Generic bool
	// Signature is a hash of the function's tokens: equal code, equal signature.
	Signature uint32
	// Element is the index in Counters of its first element.
	Element int
	// Blocks are the lines of its blocks, the entry block first. Outside of mode block
	// there is one, with the lines that run in each call up to the first call in it.
	Blocks [][]Lines
	// Rest are its other lines, outside of mode block.
	Rest []Lines
	// Units are its statements in the division of go tool cover. Timed modes have none.
	Units []Unit
	// UnitFile is the file of the units, if line directives in the function make it another than File.
	UnitFile string `json:",omitempty"`
	// Literal is set for a function literal that is not in a function: the value of a variable. Its
	// symbol is not known.
	Literal bool `json:",omitempty"`
	// Unprobed is why it has no probe, "" if it has one.
	Unprobed string `json:",omitempty"`
}

// Unit is a number of statements that run one after the other.
type Unit struct {
	FromLine, FromColumn, ToLine, ToColumn int
	Statements                             int
	Block                                  int // its first; -1 if nothing is recorded for it
}

// MarshalJSON writes a unit as six numbers: packages have many.
func (u Unit) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d,%d,%d,%d,%d,%d]", u.FromLine, u.FromColumn, u.ToLine, u.ToColumn, u.Statements, u.Block), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (u *Unit) UnmarshalJSON(data []byte) error {
	var n [6]int
	err := json.Unmarshal(data, &n)
	*u = Unit{n[0], n[1], n[2], n[3], n[4], n[5]}
	return err
}

// edit is text to insert at a byte offset, in place of some bytes.
type edit struct {
	at   int
	text string
	drop int
}

// Rewriter rewrites the files of one package.
type Rewriter struct {
	opts    Options
	Funcs   []Func
	Skipped []string // functions without a probe, with the reason
	// Unprobed are those of Skipped that have a body in Go.
	Unprobed []Func
	// In timed modes: function literals with probes, and functions without probes, because the
	// compiler can inline them or because they are small.
	Literals, Inlinable, Small int

	elements int
	inits    int // functions init so far
	seen     map[unitKey]bool
	declared names // in the whole package
}

// New returns a Rewriter for a package that gets the probes that opts describes.
func New(opts Options) *Rewriter { return &Rewriter{opts: opts} }

// countWidth is the number of elements of a record in mode count.
const countWidth = 2

// File returns the text src of a file with probes. The text begins with a line directive
// with name. It is nil if the file has no function to put a probe in, or must not be
// changed.
func (r *Rewriter) File(name string, src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	w := &fileWriter{r: r, fset: fset, file: fset.File(f.FileStart), src: src}
	if r.opts.Mode.Timed() {
		w.timedFile(f)
	} else {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				w.function(fn)
				continue
			}
			for _, lit := range outermost(decl) {
				w.literal(lit)
			}
		}
	}
	if len(w.edits) == 0 {
		return nil, nil
	}
	out := fmt.Appendf(nil, "//line %s:1:1\n", name)
	last := 0
	// Stable: of several texts for one place, the first to be added comes first.
	stablesort.Func(w.edits, func(a, b edit) int { return a.at - b.at })
	for _, e := range w.edits {
		out = append(out, src[last:e.at]...)
		out = append(out, e.text...)
		last = e.at + e.drop
	}
	return append(out, src[last:]...), nil
}

type fileWriter struct {
	r     *Rewriter
	fset  *token.FileSet
	file  *token.File
	src   []byte
	edits []edit

	imports  map[string]string // of timed modes: paths by name
	physical bool              // positions in the function are those of the text itself
	local    names             // declared in the function
}

// position returns a position in the current function.
func (w *fileWriter) position(pos token.Pos) token.Position {
	return w.fset.PositionFor(pos, !w.physical)
}

// directed reports whether line directives divide a function: its parts are from different
// places, as in generated parsers, so that its lines are not a range of one file.
func (w *fileWriter) directed(fn ast.Node) (found bool) {
	if !bytes.Contains(w.src, []byte("line ")) {
		return false
	}
	shift := func(pos token.Pos) (string, int) {
		said := w.fset.Position(pos)
		return said.Filename, said.Line - w.fset.PositionFor(pos, false).Line
	}
	file, lines := shift(fn.Pos())
	differs := func(pos token.Pos) bool {
		f, n := shift(pos)
		return f != file || n != lines
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		if _, comment := n.(*ast.CommentGroup); n == nil || comment {
			return false
		}
		found = found || differs(n.Pos()) || differs(n.End())
		return !found
	})
	return found
}

func (w *fileWriter) insert(pos token.Pos, text string) {
	w.edits = append(w.edits, edit{at: w.file.Offset(pos), text: text})
}

// function puts probes into one function.
func (w *fileWriter) function(fn *ast.FuncDecl) {
	name := symbolName(fn)
	switch {
	case fn.Name.Name == "_":
		return
	case fn.Body == nil:
		w.r.Skipped = append(w.r.Skipped, name+": no body in Go")
		return
	case fn.Name.Name == "init" && fn.Recv == nil:
		// Each of several init functions is a separate function: init.0, init.1.
		name = fmt.Sprintf("init.%d", w.r.inits)
		w.r.inits++
	}
	f := Func{Name: name, Generic: fn.Type.TypeParams != nil || genericReceiver(fn)}
	leaf := hasPragma(fn, "nosplit") // may call nothing
	w.probed(&f, fn, fn.Body, leaf)
}

// literal puts probes into a function literal that is not in a function. Its name is that of go tool
// covdata.
func (w *fileWriter) literal(lit *ast.FuncLit) {
	at := w.fset.Position(lit.Pos())
	w.probed(&Func{Name: fmt.Sprintf("func.L%d.C%d", at.Line, at.Column), Literal: true}, lit, lit.Body, false)
}

// probed puts probes into a function, and completes its description. A leaf may call nothing.
func (w *fileWriter) probed(f *Func, fn ast.Node, body *ast.BlockStmt, leaf bool) {
	w.physical, w.local = w.directed(fn), localNames(fn)
	pos := w.position(fn.Pos())
	f.File, f.Line, f.Element, f.Signature = pos.Filename, pos.Line, w.r.elements, w.signature(fn)
	if said := w.fset.Position(fn.Pos()).Filename; said != f.File {
		f.UnitFile = said
	}
	first := Lines{pos.Line, w.position(body.Lbrace).Line}
	if leaf && w.r.opts.Race {
		n, edits := w.r.elements, len(w.edits)
		w.blocksOf(f, body, first)
		w.r.elements, w.edits = n, w.edits[:edits]
		f.Unprobed = "go:nosplit in a build for the race detector"
		w.r.Skipped = append(w.r.Skipped, f.Name+": "+f.Unprobed)
		w.r.Unprobed = append(w.r.Unprobed, *f)
		return
	}
	w.insert(body.Lbrace+1, w.r.probe(f.Element, leaf, w.callsNothing(body)))
	w.blocksOf(f, body, first)
	w.r.Funcs = append(w.r.Funcs, *f)
}

// width is the number of elements of a function's record, outside of mode block.
func (r *Rewriter) width() int {
	if r.opts.Mode == prof.ModeCount && !r.opts.Wide {
		return countWidth
	}
	return 1
}

// Elements returns the number of elements of Counters, and the bytes of each.
func (r *Rewriter) Elements() (n, size int) {
	switch {
	case r.opts.Wide:
		return r.elements, 8
	case r.opts.Mode == prof.ModeCount:
		return r.elements, 4
	}
	return r.elements, 1
}

// probe returns the text of the probe of the record at an element. A leaf may call nothing; a
// function that is alone calls nothing, so that it needs no frame unless the probe has a call.
func (r *Rewriter) probe(element int, leaf, alone bool) string {
	o := r.opts
	switch {
	case o.Race && o.Mode == prof.ModeCount:
		return fmt.Sprintf(" %sadd(&%s[%d]);", prefix, Counters, element)
	case o.Race && o.Mode == prof.ModeOrder:
		return fmt.Sprintf(" %sfirst(&%s[%d]);", prefix, Counters, element)
	case o.Race:
		return fmt.Sprintf(" %sset(&%s[%d]);", prefix, Counters, element)
	case o.Mode == prof.ModeCount && leaf:
		return fmt.Sprintf(" %s[%d] = %[1]s[%[2]d] - 1;", Counters, element)
	case o.Mode == prof.ModeCount && o.Atomic:
		return fmt.Sprintf(" %s[%d] = %sadd(&%[1]s[%[4]d]);", Counters, element+1, prefix, element)
	case o.Wide && alone:
		return fmt.Sprintf(" %s[%d] = %[1]s[%[2]d] - %sm(%[2]d);", Counters, element, prefix)
	case o.Wide:
		return fmt.Sprintf(" %s[%d] = %[1]s[%[2]d] - %sn(%[2]d);", Counters, element, prefix)
	case o.Mode == prof.ModeCount && alone:
		return fmt.Sprintf(" %s[%d] = %sm(%[2]d);", Counters, element, prefix)
	case o.Mode == prof.ModeCount:
		return fmt.Sprintf(" %s[%d] = %sn(%[2]d);", Counters, element, prefix)
	case o.Mode == prof.ModeOrder && !leaf:
		return fmt.Sprintf(" %s[%d] = %sf(%[2]d);", Counters, element, prefix)
	}
	return fmt.Sprintf(" %s[%d] = 1;", Counters, element)
}

// callsNothing reports whether a function has no calls but those of builtin functions and
// conversions to builtin types.
func (w *fileWriter) callsNothing(body *ast.BlockStmt) bool {
	alone := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			alone = alone && ok && w.builtin(id.Name)
		case *ast.FuncLit:
			alone = false
		}
		return alone
	})
	return alone
}

// signature returns a hash of the tokens of a function.
func (w *fileWriter) signature(fn ast.Node) uint32 {
	h := fnv.New32a()
	for _, word := range strings.Fields(string(w.src[w.file.Offset(fn.Pos()):w.file.Offset(fn.End())])) {
		h.Write([]byte(word))
	}
	return h.Sum32()
}

// hasPragma reports whether a function has the directive //go:name.
func hasPragma(fn *ast.FuncDecl, name string) bool {
	if fn.Doc == nil {
		return false
	}
	return slices.ContainsFunc(fn.Doc.List, func(c *ast.Comment) bool {
		rest, ok := strings.CutPrefix(c.Text, "//go:"+name)
		return ok && strings.TrimSpace(rest) == ""
	})
}

// symbolName returns the name of a function as the compiler makes it.
func symbolName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := ast.Unparen(fn.Recv.List[0].Type)
	star, pointer := t.(*ast.StarExpr)
	if pointer {
		t = ast.Unparen(star.X)
	}
	name := baseName(t)
	if pointer {
		return "(*" + name + ")." + fn.Name.Name
	}
	return name + "." + fn.Name.Name
}

func baseName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.IndexExpr:
		return baseName(ast.Unparen(t.X))
	case *ast.IndexListExpr:
		return baseName(ast.Unparen(t.X))
	}
	return "?"
}

// genericReceiver reports whether the type of a method has type parameters.
func genericReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return false
	}
	t := ast.Unparen(fn.Recv.List[0].Type)
	if star, ok := t.(*ast.StarExpr); ok {
		t = ast.Unparen(star.X)
	}
	switch t.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		return true
	}
	return false
}

// Races reports whether calls are counted by atomic instructions because the build is for
// the race detector.
func (r *Rewriter) Races() bool { return r.opts.Race && r.opts.Mode == prof.ModeCount }

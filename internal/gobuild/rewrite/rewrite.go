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
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"slices"
	"strings"

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
	// there is one.
	Blocks [][]Lines
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
	// In timed modes: function literals with probes, and functions without probes, because the
	// compiler can inline them or because they are small.
	Literals, Inlinable, Small int

	elements int
	inits    int // functions init so far
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
			}
		}
	}
	if len(w.edits) == 0 {
		return nil, nil
	}
	out := fmt.Appendf(nil, "//line %s:1:1\n", name)
	last := 0
	// Stable: of several texts for one place, the first to be added comes first.
	slices.SortStableFunc(w.edits, func(a, b edit) int { return a.at - b.at })
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
}

// position returns a position in the current function.
func (w *fileWriter) position(pos token.Pos) token.Position {
	return w.fset.PositionFor(pos, !w.physical)
}

// directed reports whether line directives divide a function: its parts are from different
// places, as in generated parsers, so that its lines are not a range of one file.
func (w *fileWriter) directed(fn *ast.FuncDecl) (found bool) {
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
	leaf := hasPragma(fn, "nosplit") // may call nothing
	if leaf && w.r.opts.Race {
		w.r.Skipped = append(w.r.Skipped, name+": go:nosplit in a build for the race detector")
		return
	}
	w.physical = w.directed(fn)
	pos := w.position(fn.Pos())
	f := Func{
		Name: name, File: pos.Filename, Line: pos.Line, Element: w.r.elements,
		Generic: fn.Type.TypeParams != nil || genericReceiver(fn), Signature: w.signature(fn),
	}
	w.insert(fn.Body.Lbrace+1, w.r.probe(w.r.elements, leaf, callsNothing(fn.Body)))
	whole := []Lines{{pos.Line, w.position(fn.End()).Line}}
	if w.r.opts.Mode != prof.ModeBlock {
		f.Blocks = [][]Lines{whole}
		w.r.elements += w.r.width()
	} else {
		b := blockWriter{fileWriter: w, next: w.r.elements + 1}
		b.blocks = append(b.blocks, nil)
		b.list(fn.Body.List, 0)
		f.Blocks = b.blocks
		f.Blocks[0] = append([]Lines{{pos.Line, w.position(fn.Body.Lbrace).Line}}, f.Blocks[0]...)
		w.r.elements = b.next
	}
	w.r.Funcs = append(w.r.Funcs, f)
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
func callsNothing(body *ast.BlockStmt) bool {
	alone := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, ok := n.Fun.(*ast.Ident)
			alone = alone && ok && types.Universe.Lookup(id.Name) != nil
		case *ast.FuncLit:
			alone = false
		}
		return alone
	})
	return alone
}

// signature returns a hash of the tokens of a function.
func (w *fileWriter) signature(fn *ast.FuncDecl) uint32 {
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

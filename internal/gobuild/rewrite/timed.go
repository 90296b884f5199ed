package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/cairnprof/cairn/prof"
)

// In the timed modes a function has a probe where it begins and one at each place where it
// returns. The data of the probe at the beginning is in a local variable, so that it belongs to
// the goroutine, and disappears with a call that a panic leaves:
//
//	func f(x int) (_cairn_0 int, _cairn_1 error) { _cairn_g, _cairn_t := _cairn_enter(); ...
//		_cairn_0, _cairn_1 = g(x); _cairn_exit(_cairn_g, _cairn_t); return
//
// In mode spike the first probe stores the clock, and the second compares it with a time before
// which only calls began that seem to take long:
//
//	_cairn_t := _cairn_word; ... if _cairn_t <= _cairn_past { _cairn_slow(&_cairn_t) }
//
// The address makes the first probe a store into memory. A local variable that is only read would
// be loaded where it is compared, after a loop that writes no memory.
//
// A function that defers calls has its second probe in an additional deferred call, the last
// to run: the function can recover, and its deferred calls are a part of it. The same applies
// to a function that returns from the body of a range over a function: the iterator's functions
// end between such a return statement and the end of the call. In mode spike it applies to functions that
// only a panic can end: the compiler would remove their first probe. Functions that the compiler can
// inline have no probes: their time counts as their caller's.

// Place is a place in a source file, or the place that line directives give instead.
type Place struct {
	File         string // base name
	Line, Column int    // the column is 0 if a line directive leaves it unknown
}

// timedFile puts probes into the functions and function literals of a file.
func (w *fileWriter) timedFile(f *ast.File) {
	w.imports = importNames(f)
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			if gen, ok := decl.(*ast.GenDecl); ok {
				w.literals(gen)
			}
			continue
		}
		name := symbolName(fn)
		switch {
		case fn.Body == nil:
			w.r.Skipped = append(w.r.Skipped, name+": no body in Go")
			continue
		case mustNotCall(fn):
			w.r.Skipped = append(w.r.Skipped, name+": go:nosplit")
			continue
		case fn.Name.Name == "_":
		case f.Name.Name == "main" && fn.Name.Name == "main" && fn.Recv == nil: // package runtime calls it
			w.declared(fn, name)
		case w.inlinable(afterFunc(fn)):
			w.r.Inlinable++
		case w.isSmall(fn.Body):
			w.r.Small++
		default:
			w.declared(fn, name)
		}
		w.literals(fn.Body)
	}
}

// declared puts probes into a declared function.
func (w *fileWriter) declared(fn *ast.FuncDecl, name string) {
	w.timed(fn.Type, fn.Body)
	w.physical = w.directed(fn)
	pos := w.position(fn.Pos())
	w.r.Funcs = append(w.r.Funcs, Func{
		Name: name, File: pos.Filename, Line: pos.Line, Signature: w.signature(fn),
		Blocks: [][]Lines{{{pos.Line, w.position(fn.End()).Line}}},
	})
	w.r.elements = 1
}

// mustNotCall reports whether a function may have no calls that can need more stack.
func mustNotCall(fn *ast.FuncDecl) bool {
	return slices.ContainsFunc([]string{"nosplit", "systemstack", "nowritebarrier", "nowritebarrierrec", "yeswritebarrierrec", "uintptrkeepalive"}, func(name string) bool { return hasPragma(fn, name) })
}

// literals puts probes into the function literals below a node. One that a go statement
// runs is not inlined, however small it is.
func (w *fileWriter) literals(n ast.Node) {
	started := map[*ast.FuncLit]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if lit, ok := ast.Unparen(n.Call.Fun).(*ast.FuncLit); ok {
				started[lit] = true
			}
		case *ast.FuncLit:
			switch {
			case started[n]:
			case w.inlinable(n.Pos()):
				w.r.Inlinable++
				return true
			case w.isSmall(n.Body):
				w.r.Small++
				return true
			}
			w.timed(n.Type, n.Body)
			w.r.Literals++
			w.r.elements = 1
		}
		return true
	})
}

// afterFunc returns the place by which the compiler identifies a declared function: that after
// the keyword, of the receiver or the name.
func afterFunc(fn *ast.FuncDecl) token.Pos {
	if fn.Recv != nil {
		return fn.Recv.Pos()
	}
	return fn.Name.Pos()
}

// place returns a position as the compiler prints it.
func (w *fileWriter) place(at token.Pos) Place {
	p := w.fset.Position(at)
	return Place{base(p.Filename), p.Line, p.Column}
}

// inlinable reports whether the compiler can inline the function that it identifies by a place.
func (w *fileWriter) inlinable(at token.Pos) bool {
	return w.r.opts.Inlinable[w.place(at)]
}

// timed puts probes into a function.
func (w *fileWriter) timed(typ *ast.FuncType, body *ast.BlockStmt) {
	s := w.scanBody(body)
	results, ok := resultNames(typ, s.declared)
	if (typ.Results == nil || len(typ.Results.List) == 0) && slices.ContainsFunc(s.returns, func(r *ast.ReturnStmt) bool { return len(r.Results) > 0 }) {
		return // too many results: the compiler reports the error
	}
	if w.r.opts.Mode == prof.ModeTrace && (s.defers || !ok) {
		w.insert(body.Lbrace+1, " defer _cairn_out(_cairn_in());")
		return
	}
	spike := w.r.opts.Mode == prof.ModeSpike
	if s.defers || !ok || spike && len(s.returns) == 0 && endless(body) {
		if spike {
			w.insert(body.Lbrace+1, " defer _cairn_ended(_cairn_began());")
		} else {
			w.insert(body.Lbrace+1, " defer _cairn_ended(_cairn_enter());")
		}
		return
	}
	begin, end := " _cairn_g, _cairn_t := _cairn_enter(); _, _ = _cairn_g, _cairn_t;", "_cairn_exit(_cairn_g, _cairn_t); "
	switch {
	case w.r.opts.Mode == prof.ModeTrace:
		begin, end = " _cairn_t := _cairn_in(); _ = _cairn_t;", "_cairn_out(_cairn_t); "
	case spike:
		begin, end = " _cairn_t := _cairn_word; _ = _cairn_t;", "if _cairn_t <= _cairn_past { _cairn_slow(&_cairn_t) }; "
	}
	w.insert(body.Lbrace+1, begin)
	w.nameResults(typ)
	for _, ret := range s.returns {
		if len(ret.Results) == 0 {
			w.insert(ret.Pos(), end)
			continue
		}
		w.edits = append(w.edits, edit{at: w.file.Offset(ret.Pos()), drop: len("return"), text: results + " ="})
		w.insert(ret.End(), "; "+end+"return")
	}
	if typ.Results == nil || len(typ.Results.List) == 0 {
		w.insert(body.Rbrace, "; "+end)
	}
}

func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

// bodyScan has the relevant properties of the body of a function, without its function literals.
type bodyScan struct {
	returns  []*ast.ReturnStmt
	defers   bool // defers calls, or returns from the body of a range over a function
	declared map[string]bool
}

func (w *fileWriter) scanBody(body *ast.BlockStmt) *bodyScan {
	s := &bodyScan{declared: map[string]bool{}}
	names := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				s.declared[id.Name] = true
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			s.returns = append(s.returns, n)
		case *ast.DeferStmt:
			s.defers = true
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				names(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				names(n.Key, n.Value)
			}
			s.defers = s.defers || w.isClosure(n.For) && returns(n.Body)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				s.declared[id.Name] = true
			}
		case *ast.TypeSpec:
			s.declared[n.Name.Name] = true
		}
		return true
	})
	return s
}

// isClosure reports whether the compiler made a closure at a place.
func (w *fileWriter) isClosure(at token.Pos) bool {
	return w.r.opts.Closures[w.place(at)]
}

// returns reports whether a statement can return from the function that it is in.
func returns(body ast.Stmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		}
		return !found
	})
	return found
}

// resultNames returns the names of a function's results as the left side of an assignment.
// It reports whether they mean the results everywhere in a body that declares some names.
func resultNames(typ *ast.FuncType, declared map[string]bool) (list string, ok bool) {
	if typ.Results == nil {
		return "", true
	}
	n := 0
	add := func(name string) {
		if n > 0 {
			list += ", "
		}
		list += name
		n++
	}
	for _, field := range typ.Results.List {
		if len(field.Names) == 0 {
			add(fmt.Sprintf("%s%d", prefix, n))
		}
		for _, id := range field.Names {
			if declared[id.Name] {
				return "", false
			}
			if id.Name == "_" {
				add(fmt.Sprintf("%s%d", prefix, n))
			} else {
				add(id.Name)
			}
		}
	}
	return list, true
}

// nameResults names the results of a function that have no names.
func (w *fileWriter) nameResults(typ *ast.FuncType) {
	if typ.Results == nil {
		return
	}
	n := 0
	for _, field := range typ.Results.List {
		if len(field.Names) == 0 {
			name := fmt.Sprintf("%s%d ", prefix, n)
			if !typ.Results.Opening.IsValid() {
				name = "(" + name
			}
			w.insert(field.Type.Pos(), name)
			n++
		}
		for _, id := range field.Names {
			if id.Name == "_" {
				w.edits = append(w.edits, edit{at: w.file.Offset(id.Pos()), drop: 1, text: fmt.Sprintf("%s%d", prefix, n)})
			}
			n++
		}
	}
	if !typ.Results.Opening.IsValid() {
		w.insert(typ.Results.End(), ")")
	}
}

// timedGenerated returns the text of the file that declares what probes use.
func (r *Rewriter) timedGenerated(pkg string) []byte {
	const head = "// Code generated by cairn. DO NOT EDIT.\n\npackage %s\n\nimport _ \"unsafe\"\n"
	if r.opts.Mode == prof.ModeTrace {
		return fmt.Appendf(nil, head+`
//go:linkname _cairn_in runtime.cairn_trace_enter
func _cairn_in() uintptr

//go:linkname _cairn_out runtime.cairn_trace_exit
func _cairn_out(uintptr)
`, pkg)
	}
	if r.opts.Mode == prof.ModeSpike {
		return fmt.Appendf(nil, head+`
//go:linkname _cairn_word runtime.cairnWord
var _cairn_word int64

//go:linkname _cairn_past runtime.cairnPast
var _cairn_past int64

//go:noescape
//go:linkname _cairn_slow runtime.cairn_slow
func _cairn_slow(*int64)

//go:linkname _cairn_began runtime.cairn_began
func _cairn_began() (int64, uintptr)

//go:linkname _cairn_ended runtime.cairn_ended
func _cairn_ended(int64, uintptr)
`, pkg)
	}
	return fmt.Appendf(nil, head+`
// The first fields of runtime.cairnG.
type _cairn_goroutine struct {
	node uintptr
	last int64
}

//go:linkname _cairn_word runtime.cairnWord
var _cairn_word int64

//go:linkname _cairn_enter runtime.cairn_enter
func _cairn_enter() (*_cairn_goroutine, uintptr)

//go:linkname _cairn_tick runtime.cairn_tick
func _cairn_tick(*_cairn_goroutine)

//go:linkname _cairn_ended runtime.cairn_exit
func _cairn_ended(*_cairn_goroutine, uintptr)

// The race detector would take two goroutines with the same memory for one race.
//
//go:norace
func _cairn_exit(g *_cairn_goroutine, around uintptr) {
	if _cairn_word != g.last {
		_cairn_tick(g)
	}
	g.node = around
}
`, pkg)
}

package rewrite

import (
	"bytes"
	"go/ast"
	"go/token"
	"strings"

	"github.com/cairnprof/cairn/prof"
)

// blockWriter divides a function into blocks, and in mode block puts a probe at the start of
// each. Blocks are those of the source: a list of statements is divided after each statement that
// decides what runs next, and after each that may not return: a call that panics, exits or ends
// the goroutine does not let the rest of its list run. The blocks of function literals belong to
// the enclosing function.
//
// The division into units is that of go tool cover, so that percentages of statements are equal.
// A unit begins with a block, and has the blocks up to the next unit.
type blockWriter struct {
	*fileWriter
	probes bool
	next   int // element of the next block
	blocks [][]Lines
	units  []Unit
}

// noBlock is the block of statements for which nothing is recorded and nothing is to be counted.
const noBlock = -1

// begin starts a block at pos and returns its index.
func (b *blockWriter) begin(pos token.Pos) int {
	if b.probes {
		b.insert(pos, b.r.probe(b.next, true, false))
	}
	b.next++
	b.blocks = append(b.blocks, nil)
	return len(b.blocks) - 1
}

// unit adds a unit of statements that begins with block i.
func (b *blockWriter) unit(from, to token.Pos, statements, i int) {
	b.units = append(b.units, b.r.distinct(b.fset.Position(from), b.fset.Position(to), statements, i))
}

// add adds the lines from a position to another to block i.
func (b *blockWriter) add(i int, from, to token.Pos) {
	if i == noBlock {
		return
	}
	l := Lines{b.position(from).Line, b.position(to).Line}
	if list := b.blocks[i]; len(list) > 0 && list[len(list)-1].To >= l.From && list[len(list)-1].From <= l.From {
		list[len(list)-1].To = max(list[len(list)-1].To, l.To)
		return
	}
	b.blocks[i] = append(b.blocks[i], l)
}

// entry divides the body of a function, whose probe is in front of it.
func (b *blockWriter) entry(body *ast.BlockStmt) {
	b.blocks = append(b.blocks, nil)
	b.list(scope{from: body.Lbrace, empty: body.Lbrace + 1, end: body.Rbrace + 1, braces: true}, body.List, 0)
}

// body divides a list of statements in braces.
func (b *blockWriter) body(body *ast.BlockStmt) { b.bodyFrom(body.Lbrace, body) }

// bodyFrom is body, where the unit begins before the brace.
func (b *blockWriter) bodyFrom(from token.Pos, body *ast.BlockStmt) {
	i := b.begin(body.Lbrace + 1)
	b.add(i, body.Lbrace, body.Lbrace)
	b.list(scope{from: from, empty: from + 1, end: body.Rbrace + 1, braces: true}, body.List, i)
}

// clause divides the statements after the colon of a case.
func (b *blockWriter) clause(colon, end token.Pos, list []ast.Stmt) {
	i := b.begin(colon + 1)
	b.add(i, colon, colon)
	b.list(scope{from: colon + 1, empty: colon + 1, end: end}, list, i)
}

// scope is where a list of statements is in the source.
type scope struct {
	from   token.Pos // start of its first unit
	empty  token.Pos // start of its unit, if it has no statements
	end    token.Pos // end of its last unit, if that is not divided
	braces bool
}

// list divides statements, of which the first are in block i.
func (b *blockWriter) list(s scope, list []ast.Stmt, i int) {
	if len(list) == 0 {
		b.unit(s.empty, s.end, 0, i)
		return
	}
	for from := s.from; len(list) > 0; {
		n, rest := group(list)
		to := boundary(list[n-1])
		labelled, moved := splitLabel(list[n-1])
		switch {
		case moved != nil:
			to = labelled.Pos()
		case s.braces && n == len(list) && !endsUnit(list[n-1]):
			to = s.end
		}
		s.braces = s.braces && !endsUnit(list[n-1])
		if i == noBlock && from != to {
			i = b.begin(from)
		}
		if from != to {
			b.unit(from, to, n, i)
		}
		b.statements(list[:n], i)
		if list = rest; moved != nil {
			list = append([]ast.Stmt{moved}, rest...)
		}
		if len(list) > 0 {
			from, i = list[0].Pos(), noBlock
		}
	}
}

// statements adds the statements of a unit, which begins with block i.
func (b *blockWriter) statements(list []ast.Stmt, i int) {
	for k, s := range list {
		if k > 0 && b.mayLeave(list[k-1]) {
			i = b.begin(s.Pos())
		}
		b.statement(s, i)
	}
}

// statement adds a statement to block i, and divides what is in it.
func (b *blockWriter) statement(s ast.Stmt, i int) {
	switch s := s.(type) {
	case *ast.LabeledStmt:
		if _, moved := splitLabel(s); moved != nil {
			b.add(i, s.Pos(), s.Colon)
			return
		}
		b.add(i, s.Pos(), s.Colon)
		b.statement(s.Stmt, i)
	case *ast.EmptyStmt:
	case *ast.BlockStmt:
		b.body(s)
	case *ast.IfStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Cond)
		b.body(s.Body)
		b.otherwise(s.Body.End(), s.Else)
	case *ast.ForStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Cond, s.Post)
		b.body(s.Body)
	case *ast.RangeStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Key, s.Value, s.X)
		b.body(s.Body)
	case *ast.SwitchStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Tag)
		b.clauses(s.Body)
	case *ast.TypeSwitchStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Assign)
		b.clauses(s.Body)
	case *ast.SelectStmt:
		b.head(i, s.Pos(), s.Body.Lbrace)
		b.clauses(s.Body)
	default:
		b.simple(s, i)
	}
}

// otherwise divides what follows an else; s is nil if there is none. The condition of an else if
// gets a block, in braces that are added around the statement.
func (b *blockWriter) otherwise(after token.Pos, s ast.Stmt) {
	if s == nil {
		return
	}
	from := b.afterElse(after, s.Pos())
	switch e := s.(type) {
	case *ast.BlockStmt:
		b.bodyFrom(from, e)
	case *ast.IfStmt:
		if b.probes {
			b.insert(e.Pos(), "{")
		}
		i := b.begin(e.Pos())
		b.list(scope{from: from, end: e.End(), braces: true}, []ast.Stmt{e}, i)
		if b.probes {
			b.insert(e.End(), "}")
		}
	}
}

// afterElse returns the position after the keyword else, which is between two positions, among
// comments.
func (b *blockWriter) afterElse(from, to token.Pos) token.Pos {
	const word = "else"
	start, end := b.file.Offset(from), b.file.Offset(to)
	for i := start; i < end; i++ {
		rest := b.src[i:end]
		switch {
		case bytes.HasPrefix(rest, []byte(word)):
			return from + token.Pos(i-start+len(word))
		case bytes.HasPrefix(rest, []byte("//")):
			for i < end && b.src[i] != '\n' {
				i++
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			for i += 2; i+1 < end && (b.src[i] != '*' || b.src[i+1] != '/'); i++ {
			}
			i++
		}
	}
	return to
}

// clauses divides the body of a switch or a select.
func (b *blockWriter) clauses(body *ast.BlockStmt) {
	for _, s := range body.List {
		switch c := s.(type) {
		case *ast.CaseClause:
			for _, e := range c.List {
				b.literals(e)
			}
			b.clause(c.Colon, c.End(), c.Body)
		case *ast.CommClause:
			b.literals(c.Comm)
			b.clause(c.Colon, c.End(), c.Body)
		}
	}
}

// head adds the first lines of a statement, up to its brace, and divides the function
// literals in parts of it.
func (b *blockWriter) head(i int, from, brace token.Pos, parts ...ast.Node) {
	b.add(i, from, brace)
	for _, p := range parts {
		b.literals(p)
	}
}

// simple adds the lines of a statement without those of the function literals in it, and
// divides the function literals.
func (b *blockWriter) simple(s ast.Stmt, i int) {
	from := s.Pos()
	for _, lit := range b.literals(s) {
		b.add(i, from, lit.Body.Lbrace)
		from = lit.Body.Rbrace
	}
	b.add(i, from, max(from, s.End()-1))
}

// literals divides the function literals in a node, and returns the outermost.
func (b *blockWriter) literals(n ast.Node) (found []*ast.FuncLit) {
	found = outermost(n)
	for _, lit := range found {
		b.body(lit.Body)
	}
	return found
}

// outermost returns the function literals in a node, without those in others and those that cgo made of calls.
func outermost(n ast.Node) (found []*ast.FuncLit) {
	if n == nil {
		return nil
	}
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if ok && !byCgo(lit) {
			found = append(found, lit)
		}
		return !ok
	})
	return found
}

// byCgo reports whether cgo made a function literal of a call: it evaluates the arguments first.
func byCgo(lit *ast.FuncLit) bool {
	const prefix = "_cgo"
	if len(lit.Body.List) == 0 {
		return false
	}
	var first ast.Node
	switch s := lit.Body.List[0].(type) {
	case *ast.AssignStmt:
		first = s.Lhs[0]
	case *ast.DeclStmt:
		if gen, ok := s.Decl.(*ast.GenDecl); ok && len(gen.Specs) > 0 {
			if v, ok := gen.Specs[0].(*ast.ValueSpec); ok {
				first = v.Names[0]
			}
		}
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			first = call.Fun
		}
	}
	id, ok := first.(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, prefix)
}

// mayLeave reports whether control may not reach the statement after s: s returns, or has a call, or
// waits for a channel, outside of function literals. A panic of the runtime, as by an index out of
// range, is not among these.
func (w *fileWriter) mayLeave(s ast.Stmt) (leaves bool) {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt, *ast.SendStmt:
		return true
	case *ast.GoStmt:
		return w.calls(s.Call.Fun, s.Call.Args)
	case *ast.DeferStmt:
		return w.calls(s.Call.Fun, s.Call.Args)
	}
	return w.waits(s)
}

// calls reports whether the evaluation of a call's function and arguments has calls.
func (w *fileWriter) calls(fun ast.Expr, args []ast.Expr) bool {
	for _, e := range append([]ast.Expr{fun}, args...) {
		if w.waits(e) {
			return true
		}
	}
	return false
}

// waits reports whether a node has a call or receives from a channel. Conversions look like calls
// if their types are not builtin; what has the name of a builtin function may be another one.
func (w *fileWriter) waits(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			found = found || byCgo(n)
			return false
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		case *ast.CallExpr:
			switch fun := n.Fun.(type) {
			case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType: // a conversion
			case *ast.Ident:
				found = found || !w.builtin(fun.Name) || fun.Name == "panic"
			default:
				found = true
			}
		}
		return !found
	})
	return found
}

// blocksOf divides the body of a function whose record begins at element. Outside of mode block
// there is one block, with the lines that run whenever the function is called, and the others are
// returned as rest.
func (w *fileWriter) blocksOf(f *Func, body *ast.BlockStmt, first Lines) {
	b := blockWriter{fileWriter: w, next: f.Element + 1, probes: w.r.opts.Mode == prof.ModeBlock}
	b.entry(body)
	b.blocks[0] = append([]Lines{first}, b.blocks[0]...)
	f.Units = b.units
	if b.probes {
		f.Blocks, w.r.elements = b.blocks, b.next
		return
	}
	f.Blocks = b.blocks[:1]
	for _, lines := range b.blocks[1:] {
		f.Rest = append(f.Rest, lines...)
	}
	for i := range f.Units {
		if f.Units[i].Block > 0 {
			f.Units[i].Block = noBlock
		}
	}
	w.r.elements += w.r.width()
}

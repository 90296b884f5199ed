package rewrite

import (
	"go/ast"
	"go/token"
)

// blockWriter puts a probe at the start of each block of a function. Blocks are those of
// the source: a list of statements is divided after each statement that decides what
// runs next. The blocks of function literals belong to the enclosing function.
type blockWriter struct {
	*fileWriter
	next   int // element of the next block
	blocks [][]Lines
}

// begin starts a block at pos and returns its index.
func (b *blockWriter) begin(pos token.Pos) int {
	b.insert(pos, b.r.probe(b.next, true, false))
	b.next++
	b.blocks = append(b.blocks, nil)
	return len(b.blocks) - 1
}

// body divides the statements after open, the position of a brace or a colon.
func (b *blockWriter) body(open token.Pos, list []ast.Stmt) {
	i := b.begin(open + 1)
	b.add(i, open, open)
	b.list(list, i)
}

// list divides statements, of which the first are in block i.
func (b *blockWriter) list(list []ast.Stmt, i int) {
	ended := false
	for _, s := range list {
		if ended {
			i = b.begin(s.Pos())
		}
		ended = b.statement(s, i)
	}
}

// add adds the lines from a position to another to block i.
func (b *blockWriter) add(i int, from, to token.Pos) {
	l := Lines{b.position(from).Line, b.position(to).Line}
	if list := b.blocks[i]; len(list) > 0 && list[len(list)-1].To >= l.From && list[len(list)-1].From <= l.From {
		list[len(list)-1].To = max(list[len(list)-1].To, l.To)
		return
	}
	b.blocks[i] = append(b.blocks[i], l)
}

// statement adds a statement to block i, and divides what is in it. It reports whether
// another block begins after it.
func (b *blockWriter) statement(s ast.Stmt, i int) (ends bool) {
	switch s := s.(type) {
	case *ast.LabeledStmt:
		switch s.Stmt.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.EmptyStmt, *ast.LabeledStmt:
			// The label must stay with its statement: a goto to it is not seen.
			b.add(i, s.Pos(), s.Colon)
			return b.statement(s.Stmt, i)
		}
		j := b.begin(s.Colon + 1)
		b.add(j, s.Pos(), s.Colon)
		b.statement(s.Stmt, j)
		return true
	case *ast.BlockStmt:
		b.body(s.Lbrace, s.List)
		return true
	case *ast.IfStmt:
		b.condition(s, i)
		return true
	case *ast.ForStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Cond, s.Post)
		b.body(s.Body.Lbrace, s.Body.List)
		return true
	case *ast.RangeStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.X)
		b.body(s.Body.Lbrace, s.Body.List)
		return true
	case *ast.SwitchStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Tag)
		b.clauses(s.Body)
		return true
	case *ast.TypeSwitchStmt:
		b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Assign)
		b.clauses(s.Body)
		return true
	case *ast.SelectStmt:
		b.head(i, s.Pos(), s.Body.Lbrace)
		b.clauses(s.Body)
		return true
	case *ast.ReturnStmt, *ast.BranchStmt:
		b.simple(s, i)
		return true
	case *ast.ExprStmt:
		b.simple(s, i)
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		return ok && id.Name == "panic"
	}
	b.simple(s, i)
	return false
}

// condition divides an if statement and those after its else.
func (b *blockWriter) condition(s *ast.IfStmt, i int) {
	b.head(i, s.Pos(), s.Body.Lbrace, s.Init, s.Cond)
	b.body(s.Body.Lbrace, s.Body.List)
	b.otherwise(s.Else)
}

// otherwise divides what follows an else, nil if there is none. The condition of an else if has no
// block of its own; it is not in that of the first condition either.
func (b *blockWriter) otherwise(s ast.Stmt) {
	switch e := s.(type) {
	case *ast.BlockStmt:
		b.body(e.Lbrace, e.List)
	case *ast.IfStmt:
		b.literals(e.Init)
		b.literals(e.Cond)
		b.body(e.Body.Lbrace, e.Body.List)
		b.otherwise(e.Else)
	}
}

// clauses divides the body of a switch or a select.
func (b *blockWriter) clauses(body *ast.BlockStmt) {
	for _, s := range body.List {
		switch c := s.(type) {
		case *ast.CaseClause:
			for _, e := range c.List {
				b.literals(e)
			}
			b.body(c.Colon, c.Body)
		case *ast.CommClause:
			b.literals(c.Comm)
			b.body(c.Colon, c.Body)
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
	if n == nil {
		return nil
	}
	ast.Inspect(n, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		found = append(found, lit)
		b.body(lit.Body.Lbrace, lit.Body.List)
		return false
	})
	return found
}

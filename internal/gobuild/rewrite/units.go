package rewrite

import (
	"go/ast"
	"go/token"
)

// group returns the number of statements of the first unit of a list, and the statements after it.
func group(list []ast.Stmt) (n int, rest []ast.Stmt) {
	for n < len(list) {
		n++
		if endsUnit(list[n-1]) {
			break
		}
	}
	return n, list[n:]
}

// splitLabel returns a labelled statement that begins a unit after its label, as a goto leads to it,
// and that statement; nil for others. The label of a loop must stay with its statement.
func splitLabel(s ast.Stmt) (labelled *ast.LabeledStmt, moved ast.Stmt) {
	labelled, ok := s.(*ast.LabeledStmt)
	if !ok {
		return nil, nil
	}
	switch labelled.Stmt.(type) {
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.SelectStmt, *ast.TypeSwitchStmt:
		return nil, nil
	}
	return labelled, labelled.Stmt
}

// endsUnit reports whether a unit of go tool cover ends with a statement.
func endsUnit(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.BlockStmt, *ast.BranchStmt, *ast.ForStmt, *ast.IfStmt, *ast.LabeledStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.SelectStmt, *ast.TypeSwitchStmt:
		return true
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && isPanic(call) && len(call.Args) == 1 {
			return true
		}
	}
	return len(outermost(s)) > 0
}

func isPanic(call *ast.CallExpr) bool {
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

// boundary returns where the unit that ends with a statement does: at the brace of its body, or at
// that of the first function literal in it.
func boundary(s ast.Stmt) token.Pos {
	first := func(brace token.Pos, parts ...ast.Node) token.Pos {
		for _, p := range parts {
			if found := outermost(p); len(found) > 0 {
				return found[0].Body.Lbrace
			}
		}
		return brace
	}
	switch s := s.(type) {
	case *ast.BlockStmt:
		return s.Lbrace
	case *ast.IfStmt:
		return first(s.Body.Lbrace, s.Init, s.Cond)
	case *ast.ForStmt:
		return first(s.Body.Lbrace, s.Init, s.Cond, s.Post)
	case *ast.LabeledStmt:
		return boundary(s.Stmt)
	case *ast.RangeStmt:
		return first(s.Body.Lbrace, s.X)
	case *ast.SwitchStmt:
		return first(s.Body.Lbrace, s.Init, s.Tag)
	case *ast.TypeSwitchStmt:
		return first(s.Body.Lbrace, s.Init)
	case *ast.SelectStmt:
		return s.Body.Lbrace
	}
	return first(s.End(), s)
}

// distinct returns a unit. Units of a package are distinct: line directives without columns can give
// several of them the same positions, as on an unformatted line. As go tool cover does, the end of
// the later ones is moved.
func (r *Rewriter) distinct(from, to token.Position, statements, block int) Unit {
	k := unitKey{from.Filename, [2]int{from.Line, from.Column}, [2]int{to.Line, to.Column}}
	for r.seen[k] {
		k.to[1]++
	}
	if r.seen == nil {
		r.seen = map[unitKey]bool{}
	}
	r.seen[k] = true
	return Unit{k.from[0], k.from[1], k.to[0], k.to[1], statements, block}
}

// unitKey is the place of a unit.
type unitKey struct {
	file     string
	from, to [2]int
}

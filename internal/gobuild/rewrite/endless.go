package rewrite

import (
	"go/ast"
	"go/token"
)

// endless reports whether control never reaches the end of a body without return statements: it ends in a terminating
// statement, as the language defines it. What it cannot decide is not.
func endless(body *ast.BlockStmt) bool { return terminates(body, "") }

func terminates(s ast.Stmt, label string) bool {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return listTerminates(s.List)
	case *ast.LabeledStmt:
		return terminates(s.Stmt, s.Label.Name)
	case *ast.BranchStmt:
		return s.Tok == token.GOTO
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := ast.Unparen(call.Fun).(*ast.Ident)
		return ok && id.Name == "panic"
	case *ast.ForStmt:
		return s.Cond == nil && !breaks(s.Body, label)
	case *ast.IfStmt:
		return s.Else != nil && terminates(s.Body, "") && terminates(s.Else, "")
	case *ast.SwitchStmt:
		return clausesTerminate(s.Body, label, true)
	case *ast.TypeSwitchStmt:
		return clausesTerminate(s.Body, label, true)
	case *ast.SelectStmt:
		return clausesTerminate(s.Body, label, false)
	}
	return false
}

func listTerminates(list []ast.Stmt) bool {
	return len(list) > 0 && terminates(list[len(list)-1], "")
}

// clausesTerminate reports whether all clauses of a statement terminate, and one of them is the default if it must be.
func clausesTerminate(body *ast.BlockStmt, label string, mustDefault bool) bool {
	if breaks(body, label) {
		return false
	}
	hasDefault := false
	for _, c := range body.List {
		var list []ast.Stmt
		switch c := c.(type) {
		case *ast.CaseClause:
			list, hasDefault = c.Body, hasDefault || c.List == nil
			if n := len(list); n > 0 {
				if b, ok := list[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
					continue
				}
			}
		case *ast.CommClause:
			list = c.Body
		}
		if !listTerminates(list) {
			return false
		}
	}
	return hasDefault || !mustDefault
}

// breaks reports whether a break statement leaves the statement that a body, and a label if it has one, belong to.
func breaks(body *ast.BlockStmt, label string) (found bool) {
	var walk func(n ast.Node, inner bool)
	walk = func(n ast.Node, inner bool) {
		ast.Inspect(n, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.FuncLit:
				return false
			case *ast.BranchStmt:
				if x.Tok == token.BREAK {
					found = found || x.Label == nil && !inner || x.Label != nil && x.Label.Name == label
				}
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if x != n {
					walk(x, true)
					return false
				}
			}
			return !found
		})
	}
	walk(body, false)
	return found
}

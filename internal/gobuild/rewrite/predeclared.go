package rewrite

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
)

// predeclared has the identifiers that each file of Go has without declaring them. That of go/types would bring 0.2 MB
// of code; a test compares them.
var predeclared = map[string]bool{
	"any": true, "bool": true, "byte": true, "comparable": true, "complex64": true, "complex128": true, "error": true,
	"float32": true, "float64": true, "int": true, "int8": true, "int16": true, "int32": true, "int64": true, "rune": true,
	"string": true, "uint": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true, "uintptr": true,

	"false": true, "iota": true, "nil": true, "true": true,

	"append": true, "cap": true, "clear": true, "close": true, "complex": true, "copy": true, "delete": true, "imag": true,
	"len": true, "make": true, "max": true, "min": true, "new": true, "panic": true, "print": true, "println": true,
	"real": true, "recover": true,
}

// Declare notes which predeclared identifiers a file of the package declares in the whole of it: what has the name of a builtin
// function may then do anything. All files are declared before the first gets probes. A file that cannot be parsed declares nothing.
func (r *Rewriter) Declare(src []byte) {
	if r.opts.Mode.Timed() || !mayDeclare(src) { // timed modes have no blocks
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	declared := names{}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				declared.add(decl.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				declared.addSpec(spec)
			}
		}
	}
	if r.declared == nil {
		r.declared = names{}
	}
	for name := range declared {
		r.declared[name] = true
	}
}

// mayDeclare reports whether one of the predeclared identifiers stands where a declaration may be; few files are parsed for it.
func mayDeclare(src []byte) bool {
	for _, before := range []string{"func ", "var ", "\n\t"} {
		for rest := src; ; {
			_, after, found := bytes.Cut(rest, []byte(before))
			if !found {
				break
			}
			rest = after
			n := bytes.IndexAny(after, " \t,=([\n")
			if n < 0 {
				break
			}
			if predeclared[string(after[:n])] && (before != "\n\t" || !bytes.HasPrefix(after[n:], []byte("("))) {
				return true
			}
		}
	}
	return false
}

// names is a set of predeclared identifiers that mean something else.
type names map[string]bool

func (n names) add(ids ...*ast.Ident) {
	for _, id := range ids {
		if predeclared[id.Name] {
			n[id.Name] = true
		}
	}
}

func (n names) addSpec(spec ast.Spec) {
	if v, ok := spec.(*ast.ValueSpec); ok {
		n.add(v.Names...)
	}
}

func (n names) addFields(list *ast.FieldList) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		n.add(f.Names...)
	}
}

func (n names) addExprs(list ...ast.Expr) {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); ok {
			n.add(id)
		}
	}
}

// localNames returns the predeclared identifiers that a function declares, wherever in it: in doubt a call of one may do anything.
func localNames(fn ast.Node) names {
	local := names{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			local.addFields(n.Params)
			local.addFields(n.Results)
		case *ast.ValueSpec:
			local.addSpec(n)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				local.addExprs(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				local.addExprs(n.Key, n.Value)
			}
		}
		return true
	})
	return local
}

// builtin reports whether a name in the current function is a builtin function or a predeclared type.
func (w *fileWriter) builtin(name string) bool {
	return predeclared[name] && !w.r.declared[name] && !w.local[name]
}

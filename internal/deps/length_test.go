package deps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// mostLines is how long a function may be, so that it fits a screen. Help texts stand beside their commands.
const mostLines = 60

// TestLength checks that functions fit a screen.
func TestLength(t *testing.T) {
	t.Parallel()
	walk(t, func(file, rel, _ string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := files.Position(fn.End()).Line - files.Position(fn.Pos()).Line + 1; n > mostLines {
				t.Errorf("%s: %s has %d lines, at most %d are expected", rel, fn.Name.Name, n, mostLines)
			}
		}
	})
}

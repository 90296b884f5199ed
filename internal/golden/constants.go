package golden

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// Constants returns the exported constants of a Go file that imports nothing, by name, for files that are made of
// them.
func Constants(t testing.TB, path string) (list []*types.Const) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := new(types.Config).Check(path, files, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range checked.Scope().Names() {
		if c, ok := checked.Scope().Lookup(name).(*types.Const); ok && c.Exported() {
			list = append(list, c)
		}
	}
	return list
}

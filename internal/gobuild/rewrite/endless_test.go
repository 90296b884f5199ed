package rewrite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

func TestEndless(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		"":                                 false,
		"f()":                              false,
		"panic(1)":                         true,
		"for { f() }":                      true,
		"for x { f() }":                    false,
		"for range x { f() }":              false,
		"for { break }":                    false,
		"for { switch { case x: break } }": true,
		"l: for { select { case <-c: break l } }":           false,
		"l: for { for { break } }":                          true,
		"select {}":                                         true,
		"select { case <-c: panic(1) }":                     true,
		"select { case <-c: f() }":                          false,
		"if x { panic(1) }":                                 false,
		"if x { panic(1) } else { for { } }":                true,
		"switch { case x: panic(1) }":                       false,
		"switch { case x: fallthrough; default: panic(1) }": true,
		"switch x.(type) { default: panic(1) }":             true,
		"{ panic(1) }":                                      true,
		"a: f(); goto a":                                    true,
		"for { func() { for { break } }() }":                true,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "a.go", "package a\nfunc g() {"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := endless(f.Decls[0].(*ast.FuncDecl).Body); got != want {
			t.Errorf("%s: endless is %v, not %v", body, got, want)
		}
	}
}

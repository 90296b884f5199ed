package rewrite

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestShadowed has what follows a call of a function that is named as a builtin one in a block of its own, since the function
// may not return: declared in another file, or in the function itself. Other names, fields, and builtin functions are not concerned.
func TestShadowed(t *testing.T) {
	const other = "package p\n\nimport \"os\"\n\nfunc clear() { os.Exit(0) }\n\nvar (\n\tcopy = func() { os.Exit(0) }\n)\n\n" +
		"type t struct {\n\tmin int\n}\n\nfunc (t) max() {}\n"
	for _, v := range []struct {
		code   string
		blocks int
	}{
		{"func f() {\n\tclear()\n\tprintln(1)\n}", 2},
		{"func f() {\n\tcopy()\n\tprintln(1)\n}", 2},
		{"func f() {\n\t_ = max(1, 2)\n\t_ = min(1, 2)\n\tprintln(1)\n}", 1},
		{"func f(delete func()) {\n\tdelete()\n\tprintln(1)\n}", 2},
		{"func f() {\n\tvar len func()\n\tlen()\n\tprintln(1)\n}", 2},
		{"func f(fs []func()) {\n\tfor _, cap := range fs {\n\t\tcap()\n\t\tprintln(1)\n\t}\n}", 3},
		{"func f(m map[int]int) {\n\tdelete(m, 1)\n\tprintln(1)\n}", 1},
	} {
		r := New(Options{Mode: prof.ModeBlock})
		src := []byte("package p\n\n" + v.code + "\n")
		r.Declare(src)
		r.Declare([]byte(other))
		if _, err := r.File("/a.go", src); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Funcs, func(f Func) bool { return f.Name == "f" })
		if got := len(r.Funcs[i].Blocks); got != v.blocks {
			t.Errorf("%s\nhas %d blocks, not %d", v.code, got, v.blocks)
		}
	}
}

package deps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits of what one has to keep in mind at once.
const (
	mostLines  = 60 // of a function, so that it fits a screen. Help texts stand beside their commands.
	mostParams = 5  // of a function
	mostFields = 20 // of a struct, an embedded one counts as one
)

// large are the structs and functions that may exceed the limits, as somebody else decides what they have: a format
// that is written to files or printed as JSON, or the kernel. They are named by file and name.
var large = []string{
	"format/tracelog/tracelog.go Episode",
	"format/tracelog/tracelog.go Trailer",
	"internal/output/filesummary/modules.go infoJSON",
	"internal/output/callrecords/records.go jsonRecord",
	"internal/output/coverlist/show.go funcJSON",
	"internal/output/samplesummary/report.go samplesJSON",
	"internal/page/model/model.go Function",
	"internal/page/model/model.go Model",
	"internal/runtime/goruntime/_runtime/sys_linux.go cairnSys",
	"internal/runtime/goruntime/_runtime/syscall_linux_go25.go cairnSyscall6",
	"internal/runtime/goruntime/_runtime/syscall_linux_go26.go cairnSyscall6",
	"internal/spikes/object.go Object",
	"internal/spikes/reach.go Reach",
	"internal/watch/lbr/image.go header",
}

// TestLength checks that functions fit a screen, and that functions and structs have few parameters and fields.
func TestLength(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	check := func(file, rel string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		few := func(name string, list *ast.FieldList, what string, most int) {
			n := 0
			for _, x := range list.List {
				n += max(1, len(x.Names))
			}
			where := filepath.ToSlash(rel) + " " + name
			if n > most && slices.Contains(large, where) {
				used[where] = true
			} else if n > most {
				t.Errorf("%s: %s has %d %s, at most %d are expected", rel, name, n, what, most)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				few(n.Name.Name, n.Type.Params, "parameters", mostParams)
				if lines := files.Position(n.End()).Line - files.Position(n.Pos()).Line + 1; lines > mostLines {
					t.Errorf("%s: %s has %d lines, at most %d are expected", rel, n.Name.Name, lines, mostLines)
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					few(n.Name.Name, s.Fields, "fields", mostFields)
				}
			}
			return true
		})
	}
	walk(t, func(file, rel, _ string) { check(file, rel) })
	ofRuntime, err := filepath.Glob("../runtime/goruntime/_runtime/*.go") // which walk leaves out
	if err != nil || len(ofRuntime) == 0 {
		t.Fatal("no sources of the runtime of Go: ", err)
	}
	for _, file := range ofRuntime {
		check(file, filepath.Join("internal/runtime/goruntime/_runtime", filepath.Base(file)))
	}
	for _, where := range large {
		if !used[where] {
			t.Errorf("%s keeps to the limits: remove it from large", where)
		}
	}
}

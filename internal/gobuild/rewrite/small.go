package rewrite

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
	"sync"
)

// A call of a small function cannot take long by itself, if the function has no loop and
// calls nothing that can wait: only a call in it can take long, which has its own probes.
// Probes in the small function would cost more than they are worth.

// isSmall reports whether a function is small in this sense. Its size is the number of nodes
// of its syntax tree.
func (w *fileWriter) isSmall(body *ast.BlockStmt) bool {
	if w.r.opts.Small == 0 {
		return false
	}
	size, small := 0, true
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil || !small {
			return false
		}
		size++
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.SendStmt, *ast.DeferStmt, *ast.LabeledStmt:
			small = false
		case *ast.UnaryExpr:
			small = n.Op != token.ARROW
		case *ast.CallExpr:
			small = !w.canWait(n.Fun)
		}
		return small
	})
	return small && size < w.r.opts.Small
}

// canWait reports whether a call may wait, or work for long, in functions without probes.
func (w *fileWriter) canWait(fun ast.Expr) bool {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			if importPath, ok := w.imports[x.Name]; ok {
				return !quickPackages[importPath] && !(w.r.opts.Probed != nil && w.r.opts.Probed(importPath))
			}
		}
		return waitingMethods()[fun.Sel.Name]
	case *ast.IndexExpr:
		return w.canWait(fun.X)
	case *ast.IndexListExpr:
		return w.canWait(fun.X)
	}
	return false // of this package, built in, a conversion, or a literal
}

// quickPackages have functions that do not wait, and whose time is proportional to the size of
// their arguments.
var quickPackages = map[string]bool{
	"bytes": true, "cmp": true, "errors": true, "fmt": true, "maps": true, "math": true, "math/big": true, "math/bits": true,
	"path": true, "path/filepath": true, "reflect": true, "slices": true, "sort": true, "strconv": true, "strings": true,
	"sync/atomic": true, "unicode": true, "unicode/utf16": true, "unicode/utf8": true, "unsafe": true, "encoding/binary": true,
	"hash/fnv": true,
}

// waitingMethods are names of methods that may wait: the types of receivers are not known here.
var waitingMethods = sync.OnceValue(func() map[string]bool {
	const names = "Accept Acquire Begin Call Close Commit Connect Copy CombinedOutput Dial DialContext Do Download Exec ExecContext " +
		"Fetch Flush Get Invoke ListenAndServe Lock Next Open Output Ping Post Publish Pull Push Query QueryContext QueryRow " +
		"QueryRowContext RLock Read ReadAll ReadAt ReadByte ReadFile ReadFrom ReadFull ReadLine ReadRune ReadString Recv " +
		"Receive Rollback RoundTrip Run Scan Seek Send Serve ServeHTTP Shutdown Sleep Start Sync Upload Wait Write WriteAt " +
		"WriteByte WriteFile WriteRune WriteString WriteTo"
	methods := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		methods[name] = true
	}
	return methods
})

// importNames returns the import paths of a file by the names that they probably have in it.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(importPath)
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(importPath))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = importPath
	}
	return names
}

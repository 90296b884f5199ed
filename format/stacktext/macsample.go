package stacktext

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/sample"
)

// A report of sample has a tree for each thread after the line "Call graph:". The position of a count is the depth of
// its row; the marks before it connect rows:
//
//	Call graph:
//	    2569 Thread_71   DispatchQueue_1: com.apple.main-thread  (serial)
//	    + 2569 start  (in libdyld.dylib) + 1  [0x7fff2066af3d]
//	    +   2400 work  (in app) + 10  [0x10a99d00a]
//	    +   169 ???  (in app)  load address 0x10a99d000 + 0x888a  [0x10a9a588a]
var (
	graphRow = lazyregexp.New(`^ {4}([ +!:|]*)(\d+) (\S.*)$`)
	inModule = lazyregexp.New(`^(.*?)  \(in ([^)]*)\)`)
)

var graphStart, graphEnd = []byte("Call graph:"), []byte("Total number in stack")

func readMacSample(in *lines) Stacks {
	return func(yield func(*sample.NamedStack, error) bool) {
		t := callTree{sink: sink{yield: yield}, in: in, unit: sample.Samples, moments: true}
		var text interned
		inside := false
		for !t.done {
			line, ok := in.next()
			if !ok {
				break
			}
			switch {
			case in.cut:
				t.error(in.damage(longLine))
			case !inside:
				inside = bytes.HasPrefix(bytes.TrimSpace(line), graphStart)
			case bytes.HasPrefix(bytes.TrimSpace(line), graphEnd):
				inside = false
				t.cut(0)
			case len(bytes.TrimSpace(line)) == 0:
			default:
				macRow(&t, line, &text)
			}
		}
		t.cut(0)
		if in.err != nil {
			t.error(in.err)
		}
	}
}

// macRow parses a row.
func macRow(t *callTree, line []byte, text *interned) {
	m := graphRow().FindSubmatch(line)
	if m == nil {
		t.error(t.in.damage(badLine))
		return
	}
	count, ok := number(m[2])
	if !ok {
		t.error(t.in.damage(badValue))
		return
	}
	const step = 2 // characters for each level
	depth := len(m[1]) / step
	if depth == 0 && (bytes.HasPrefix(m[3], []byte("Thread_")) || bytes.HasPrefix(m[3], []byte("Thread "))) {
		t.cut(0)
		t.command = text.of(bytes.Join(bytes.Fields(m[3]), []byte(" ")))
		return
	}
	if t.command != "" {
		depth--
	}
	name := m[3]
	if x := inModule().FindSubmatch(m[3]); x != nil {
		if name = x[1]; string(name) == "???" {
			name = []byte(moduleName(string(x[2])))
		}
	} else if fields := bytes.Fields(m[3]); string(fields[0]) == "???" {
		name = []byte(unknownName)
	}
	t.add(max(depth, 0), node{frame: sample.NamedFrame{Name: text.of(name)}, value: count})
}

//go:build linux && amd64

package oracle

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// tailSource returns a C program of n functions that call each other, most of them by
// jumps at their ends, to functions that they name and by pointers.
func tailSource(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	b.WriteString("#include <stdio.h>\ntypedef unsigned long fn(unsigned long, unsigned long);\nextern fn *volatile table[];\n")
	for i := range n {
		fmt.Fprintf(&b, "fn f%d;\n", i)
	}
	named := func() string { return fmt.Sprintf("f%d", r.IntN(n)) }
	pointer := func() string { return fmt.Sprintf("table[(x >> %d) %% %d]", r.IntN(8), n) }
	for i := range n {
		fmt.Fprintf(&b, "__attribute__((noipa)) unsigned long f%d(unsigned long n, unsigned long x) {\n  if (!n) return x;\n  x = x * 25214903917 + %d;\n", i, i)
		switch r.IntN(7) {
		case 0:
			fmt.Fprintf(&b, "  return %s(n - 1, x);\n", named())
		case 1:
			fmt.Fprintf(&b, "  if (x >> 20 & 1) return %s(n - 1, x);\n  return %s(n - 1, x + 1);\n", named(), named())
		case 2:
			fmt.Fprintf(&b, "  x += %s(n / 2, x);\n  return %s(n - 1, x);\n", named(), named())
		case 3:
			fmt.Fprintf(&b, "  return %s(n - 1, x);\n", pointer())
		case 4:
			fmt.Fprintf(&b, "  x += %s(n / 2, x);\n  return x + 1;\n", pointer())
		case 5:
			fmt.Fprintf(&b, "  x += %s(n / 2, x);\n  if (x >> 30 & 1) x ^= %s(n / 3, x);\n  return x;\n", named(), named())
		case 6:
			fmt.Fprintf(&b, "  switch (x >> 9 & 3) {\n  case 0: return %s(n - 1, x);\n  case 1: return %s(n - 1, x);\n  case 2: return %s(n / 2, x) + 1;\n  }\n  return %s(n - 1, x);\n",
				named(), pointer(), named(), named())
		}
		b.WriteString("}\n")
	}
	b.WriteString("fn *volatile table[] = {")
	for i := range n {
		fmt.Fprintf(&b, "f%d, ", i)
	}
	fmt.Fprintf(&b, "};\nint main(void) {\n  unsigned long sum = 0;\n  for (unsigned long i = 0; i < 40; i++) sum += f%d(14, sum ^ i);\n  printf(\"%%lu\\n\", sum);\n}\n", n-1)
	return b.String()
}

// madeCall is how one function came to another.
type madeCall struct {
	named      bool // by some direct call or jump
	call, jump bool
}

// madeCalls tells what callgrind saw, by indexes into m. It takes a jump to the start of a
// function for a call.
func madeCalls(t *testing.T, program string, m *prof.Module, ran execution) map[[2]int]madeCall {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	index := callgraph.NewCodeIndex(m.Funcs)
	made := map[[2]int]madeCall{}
	for edge := range ran.edges {
		from, _, ok := index.Find(edge[0])
		to, _, found := index.Find(edge[1])
		if !ok || !found || m.Funcs[to].Addr() != edge[1] || edge[0] < text.Addr || edge[0]+8 > text.Addr+text.Size {
			continue
		}
		op := code[edge[0]-text.Addr:]
		for op[0] == 0xf2 || op[0] == 0x3e { // bnd, notrack
			op = op[1:]
		}
		c := made[[2]int{from, to}]
		switch {
		case op[0] == 0xe8:
			c.named, c.call = true, true
		case op[0] == 0xe9 || op[0] == 0xeb || op[0]&0xf0 == 0x70 || op[0] == 0x0f && op[1]&0xf0 == 0x80:
			c.named, c.jump = true, true
		default:
			if op[0]&0xf0 == 0x40 { // rex
				op = op[1:]
			}
			if op[0] != 0xff {
				t.Fatalf("% x at %#x is no call", op[:4], edge[0])
			}
			jump := op[1]>>3&7 == 4
			c.call, c.jump = c.call || !jump, c.jump || jump
		}
		made[[2]int{from, to}] = c
	}
	return made
}

// TestTailCallEdges compares the edges of the call graph of programs that are full of tail
// calls with the calls that callgrind saw in the same run. What is drawn as observed was made;
// what is drawn as possible came about by jumps that were made, after a call; each call that
// was made by name is drawn, and each function that ran has an edge.
func TestTailCallEdges(t *testing.T) {
	t.Parallel()
	type row struct {
		compiler string
		seed     uint64
	}
	for _, v := range shorttest.Rows(2, row{"gcc", 1}, row{"clang-22", 3}, row{"gcc", 2}) {
		t.Run(fmt.Sprint(v.compiler, v.seed), func(t *testing.T) {
			t.Parallel()
			source := filepath.Join(t.TempDir(), "tails.c")
			text := tailSource(v.seed, 60)
			if v.compiler != "gcc" {
				text = strings.ReplaceAll(text, "noipa", "noinline")
			}
			if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			program := build(t, "full", v.compiler, "-O2", "-w", source)
			answer, ran, m := callgrind(t, program)
			checkAnswer(t, answer, answerOf(t, build(t, "", v.compiler, "-O0", "-w", source)))
			made := madeCalls(t, program, m, ran)
			checkEdges(t, callgraph.Build(&prof.Profile{Modules: []prof.Module{*m}}, false), m, made)
		})
	}
}

// TestTailCallEdgesOfLua is the same with a program that was not written for the test.
func TestTailCallEdgesOfLua(t *testing.T) {
	t.Parallel()
	skipLong(t)
	i := slices.IndexFunc(tailguests.All, func(g *tailguests.Guest) bool { return g.Name == "Lua" })
	g := tailguests.All[i].With("gcc", "-O2")
	root, dir, sources := fetchGuest(t, g)
	compile, err := g.Command(root, sources, filepath.Join(dir, "lua"))
	if err != nil {
		t.Fatal(err)
	}
	program := build(t, "full", compile[0], compile[1:]...)
	_, ran, m := callgrind(t, program, "-e", luaScript)
	checkEdges(t, callgraph.Build(&prof.Profile{Modules: []prof.Module{*m}}, false), m, madeCalls(t, program, m, ran))
}

// luaScript has the interpreter call much of itself.
const luaScript = `
local t = {}
for i = 1, 100 do t[i] = string.format("%d:%s", i * 7919 % 101, ("x"):rep(i % 9)) end
table.sort(t, function(a, b) return a < b end)
print(#t, table.concat(t, ","):gsub("x+", function(s) return #s end))
local mt = setmetatable({}, {__index = function(_, k) return k .. "!" end, __call = function(_, n) return n + 1 end})
print(mt.a, mt(3), pcall(error, {code = 1}), select("#", 1, 2, 3), tostring(nil), math.floor(3.7))
local co = coroutine.wrap(function(...) for i, v in ipairs({...}) do coroutine.yield(i * v) end end)
print(co(5, 6), co(), load("return ...")(42), next({}), string.byte("a"), os.time() > 0)
collectgarbage()
`

// checkEdges compares a call graph with the calls that were made.
func checkEdges(t *testing.T, g *callgraph.Graph, m *prof.Module, made map[[2]int]madeCall) {
	t.Helper()
	c := tally{t: t}
	kinds := map[callgraph.Kind]int{}
	drawn, reached := map[[2]int]bool{}, map[int]bool{}
	for _, e := range g.Edges {
		from, to := g.Nodes[e.From].Func, g.Nodes[e.To].Func
		kinds[e.Kind]++
		drawn[[2]int{from, to}], reached[to] = true, true
		_, ok := made[[2]int{from, to}]
		if e.Kind == callgraph.Possible {
			ok = cameBy(made, from, to)
		}
		c.check(ok || e.Kind == callgraph.Implied, "%s -> %s is %v, and was not made", m.Funcs[from].Name, m.Funcs[to].Name, e.Kind)
	}
	jumps := 0
	for edge, how := range made {
		if how.jump {
			jumps++
		}
		c.check(drawn[edge] || !how.named, "%s -> %s was made, and is not drawn", m.Funcs[edge[0]].Name, m.Funcs[edge[1]].Name)
		c.check(reached[edge[1]], "%s ran, and no edge leads to it", m.Funcs[edge[1]].Name)
	}
	c.done("edges of the call graph")
	if jumps < 30 || kinds[callgraph.Observed] < 5 || kinds[callgraph.Possible] == 0 {
		t.Errorf("%d jumps, %v edges of each kind: that proves little", jumps, kinds)
	}
}

// cameBy tells whether a function called another, or one that came to it by jumps.
func cameBy(made map[[2]int]madeCall, from, to int) bool {
	seen := map[int]bool{}
	var todo []int
	for edge, how := range made {
		if edge[0] == from && how.call {
			todo = append(todo, edge[1])
		}
	}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if at == to {
			return true
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		for edge, how := range made {
			if edge[0] == at && how.jump {
				todo = append(todo, edge[1])
			}
		}
	}
	return false
}

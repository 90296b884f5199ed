package probe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/prof"
)

// testProgram is a function with a known control flow, as compilers would
// write it: f, perhaps with f.cold, which branches share with it.
type testProgram struct {
	blocks []testBlock
	cold   int // first block of f.cold; the number of blocks if there is none
	pads   []int
}

// testBlock is one block: calls, and then its end.
type testBlock struct {
	calls []string
	end   testEnd
	to    []int
	label bool
}

type testEnd int

const (
	endNext     testEnd = iota // goes on with the block after it
	endNever                   // the compiler knows that its last call does not return
	endBranch                  // may go to to[0]
	endJump                    // goes to to[0]
	endTable                   // goes to one of to by a jump table of addresses
	endRelative                // the same, of distances
	endGoto                    // goes to to[0], whose address is taken in the code
	endCold                    // goes to f.cold by its name
	endReturn
	endTail
	endTailIf // may call something and return
	endCall   // calls to[0], as a retpoline does, and may come back
	endTrap
)

// Callees of testBlock.calls, besides library functions.
const (
	callLeaf   = "leaf"    // comes back
	callOuter  = "outer"   // comes back: calls leaf
	callMaybe  = "maybe"   // calls abort now and then
	callHang   = "hang"    // loops for ever
	callGlobal = "global"  // may be another's
	callExt    = "ext@PLT" // who knows
	callValue  = "*%rax"   // who knows
	callTrunc  = "trunc"   // not the library's, and does not come back
)

// maybeCalls are further helpers that may not come back, or are not known to.
var maybeCalls = []string{"tail", "tailif", "trap", "value", "switch", "recurse", "inline", "split"}

// testHelpers are the functions that f calls, and others.
const testHelpers = `	.type	leaf, @function
leaf:
	movl	$1, %eax
	ret
	.size	leaf, .-leaf
	.type	outer, @function
outer:
	call	leaf
	call	memcpy@PLT
.L900:
	decl	%edi
	jne	.L900
	jmp	leaf
	.size	outer, .-outer
	.type	maybe, @function
maybe:
	testl	%edi, %edi
	je	.L901
	ret
.L901:
	call	abort@PLT
	.size	maybe, .-maybe
	.type	hang, @function
hang:
	testl	%edi, %edi
	je	.L903
.L902:
	jmp	.L902
.L903:
	ret
	.size	hang, .-hang
	.globl	global
	.type	global, @function
global:
	ret
	.size	global, .-global
	.type	trunc, @function
trunc:
	call	abort@PLT
	.size	trunc, .-trunc
	.type	tail, @function
tail:
	jmp	ext
	.size	tail, .-tail
	.type	tailif, @function
tailif:
	jne	ext
	ret
	.size	tailif, .-tailif
	.type	trap, @function
trap:
	jne	.L904
	ret
.L904:
	ud2
	.size	trap, .-trap
	.type	value, @function
value:
	call	*%rdi
	ret
	.size	value, .-value
	.type	switch, @function
switch:
	jmp	*.L905(,%rdi,8)
.L906:
	ret
	.section	.rodata
.L905:
	.quad	.L906
	.text
	.size	switch, .-switch
	.type	recurse, @function
recurse:
	call	recurse
	ret
	.size	recurse, .-recurse
	.type	inline, @function
inline:
#APP
	int	$0x80
#NO_APP
	ret
	.size	inline, .-inline
	.type	split, @function
split:
	jne	.L907
	ret
	.size	split, .-split
	.section	.text.unlikely
	.type	split.cold, @function
split.cold:
.L907:
	call	abort@PLT
	.size	split.cold, .-split.cold
	.text
`

// text writes the program as gcc would.
func (p *testProgram) text() string {
	var code, data strings.Builder
	code.WriteString("\t.file\t\"f.c\"\n\t.text\n" + testHelpers)
	open := func(name, section string) {
		fmt.Fprintf(&code, "\t.section\t%s,\"ax\",@progbits\n\t.type\t%s, @function\n%s:\n.LFB_%s:\n", section, name, name, name)
	}
	name := "f"
	open(name, ".text")
	for i := range p.blocks {
		if i == p.cold {
			fmt.Fprintf(&code, "\t.size\t%s, .-%s\n", name, name)
			name = "f.cold"
			open(name, ".text.unlikely")
		}
		p.blocks[i].write(&code, &data, i)
	}
	fmt.Fprintf(&code, "\t.size\t%s, .-%s\n", name, name)
	code.WriteString("\t.section\t.rodata\n" + data.String() + "\t.section\t.gcc_except_table,\"a\",@progbits\n")
	for _, pad := range p.pads {
		fmt.Fprintf(&code, "\t.uleb128 .L%d-.LFB_f\n", pad)
	}
	return code.String()
}

// write appends block i to the code, and its jump table to the data.
func (b *testBlock) write(code, data *strings.Builder, i int) {
	if b.label {
		fmt.Fprintf(code, ".L%d:\n", i)
	}
	code.WriteString("\tmovl\t%edi, %eax\n")
	for _, c := range b.calls {
		fmt.Fprintf(code, "\tcall\t%s\n", c)
	}
	table := 500 + i
	switch b.end {
	case endBranch:
		fmt.Fprintf(code, "\tjne\t.L%d\n", b.to[0])
	case endJump:
		fmt.Fprintf(code, "\tjmp\t.L%d\n", b.to[0])
	case endTable:
		fmt.Fprintf(code, "\tjmp\t*.L%d(,%%rax,8)\n", table)
		fmt.Fprintf(data, ".L%d:\n", table)
		for _, t := range b.to {
			fmt.Fprintf(data, "\t.quad\t.L%d\n", t)
		}
	case endRelative:
		fmt.Fprintf(code, "\tleaq\t.L%d(%%rip), %%rdx\n\tmovslq\t(%%rdx,%%rdi,4), %%rax\n\taddq\t%%rdx, %%rax\n\tnotrack jmp\t*%%rax\n", table)
		fmt.Fprintf(data, ".L%d:\n", table)
		for _, t := range b.to {
			fmt.Fprintf(data, "\t.long\t.L%d-.L%d\n", t, table)
		}
	case endGoto:
		fmt.Fprintf(code, "\tleaq\t.L%d(%%rip), %%rax\n\tjmp\t*%%rax\n", b.to[0])
	case endCold:
		code.WriteString("\tjmp\tf.cold\n")
	case endReturn:
		code.WriteString("\tret\n")
	case endTail:
		code.WriteString("\tjmp\text\n")
	case endTailIf:
		code.WriteString("\tjne\text\n")
	case endCall:
		fmt.Fprintf(code, "\tcall\t.L%d\n", b.to[0])
	case endTrap:
		code.WriteString("\tud2\n")
	}
}

// drawProgram draws a program of up to 14 blocks.
func drawProgram(t *rapid.T) *testProgram {
	n := rapid.IntRange(1, 14).Draw(t, "blocks")
	p := &testProgram{blocks: make([]testBlock, n), cold: n}
	if n > 1 && rapid.Bool().Draw(t, "hasCold") {
		p.cold = rapid.IntRange(1, n-1).Draw(t, "cold")
	}
	for i := range p.blocks {
		p.draw(t, i)
	}
	if n > 1 && rapid.IntRange(0, 3).Draw(t, "catches") == 0 {
		p.pads = rapid.SliceOfN(rapid.IntRange(1, n-1), 1, 2).Draw(t, "pads")
	}
	for _, pad := range p.pads {
		p.blocks[pad].label = true
	}
	for i := range p.blocks {
		for _, to := range p.blocks[i].to {
			p.blocks[to].label = true
		}
	}
	return p
}

// draw draws block i.
func (p *testProgram) draw(t *rapid.T, i int) {
	b := &p.blocks[i]
	if i != 0 {
		b.label = rapid.Bool().Draw(t, "label")
	}
	calls := []string{callLeaf, callOuter, "memcpy@PLT", callMaybe, callHang, callGlobal, callExt, callValue, callTrunc}
	calls = append(calls, maybeCalls...)
	if rapid.IntRange(0, 2).Draw(t, "hasCalls") == 0 {
		b.calls = rapid.SliceOfN(rapid.SampledFrom(calls), 1, 2).Draw(t, "calls")
	}
	first, end := 1, len(p.blocks) // what it can jump to
	ends := []testEnd{endReturn, endTail, endTrap}
	if i+1 != p.cold && i+1 != len(p.blocks) {
		ends = append(ends, endNext, endNext, endTailIf)
	}
	if len(b.calls) > 0 && leaves(b.calls[len(b.calls)-1]) {
		ends = append(ends, endNever)
	}
	if first < end {
		ends = append(ends, endJump, endJump, endTable, endRelative, endGoto)
		if slices.Contains(ends, endNext) {
			ends = append(ends, endBranch, endBranch, endBranch, endBranch, endBranch, endCall)
		}
	}
	if p.cold < len(p.blocks) {
		ends = append(ends, endCold)
	}
	target := rapid.IntRange(first, max(first, end-1))
	switch b.end = rapid.SampledFrom(ends).Draw(t, "end"); b.end {
	case endBranch, endJump, endGoto, endCall:
		b.to = []int{target.Draw(t, "to")}
	case endTable, endRelative:
		b.to = rapid.SliceOfN(target, 1, 4).Draw(t, "to")
	}
	// A block begins with a label or behind a branch.
	if i > 0 && i != p.cold && p.blocks[i-1].end != endBranch && p.blocks[i-1].end != endTailIf {
		b.label = true
	}
	if i == p.cold {
		b.label = rapid.Bool().Draw(t, "coldLabel")
	}
}

// leaves reports whether a call may not come back.
func leaves(call string) bool {
	switch call {
	case callLeaf, callOuter, "memcpy@PLT":
		return false
	}
	return true
}

// next returns the blocks that block i may go on to once its calls are back,
// and whether it may end the function.
func (p *testProgram) next(i int) (to []int, ends bool) {
	b := &p.blocks[i]
	switch b.end {
	case endNext:
		return []int{i + 1}, false
	case endBranch:
		return []int{b.to[0], i + 1}, false
	case endTailIf:
		return []int{i + 1}, true
	case endCall:
		return []int{b.to[0], i + 1}, true
	case endCold:
		return []int{p.cold}, false
	case endReturn, endTail, endTrap, endNever:
		return nil, true
	}
	return b.to, false
}

// distances returns how many blocks it takes from each until the function can
// be left, -1 if there is no way.
func (p *testProgram) distances() []int {
	dist := make([]int, len(p.blocks))
	for i := range dist {
		dist[i] = -1
		if _, ends := p.next(i); ends || slices.ContainsFunc(p.blocks[i].calls, leaves) {
			dist[i] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range dist {
			to, _ := p.next(i)
			for _, n := range to {
				if dist[n] >= 0 && (dist[i] < 0 || dist[n]+1 < dist[i]) {
					dist[i], changed = dist[n]+1, true
				}
			}
		}
	}
	return dist
}

// walk is one execution of the program. A loop ends if there is a way out of it, and otherwise
// takes all of its paths.
type walk struct {
	p    *testProgram
	r    *rand.Rand
	dist []int
	ran  []bool
	turn []int // of the ways on from each block
}

// The blocks that a call of the function takes until it makes for the end, and
// those that it takes at most, in a loop without an end.
const (
	strollSteps = 20
	mostSteps   = 1000
)

// run calls the function a few times and returns which blocks ran.
func (p *testProgram) run(r *rand.Rand) []bool {
	w := walk{p: p, r: r, dist: p.distances(), ran: make([]bool, len(p.blocks)), turn: make([]int, len(p.blocks))}
	for range 1 + r.IntN(3) {
		at := 0
		for steps := 0; at >= 0 && steps < mostSteps; steps++ {
			w.ran[at] = true
			at = w.step(at, steps > strollSteps)
		}
	}
	return w.ran
}

// step returns the block after block i, or -1.
func (w *walk) step(i int, hurry bool) int {
	b, pads := &w.p.blocks[i], w.p.pads
	for k, c := range b.calls {
		never := b.end == endNever && k == len(b.calls)-1 || c == callTrunc
		switch {
		case !leaves(c) || !never && !hurry && w.r.IntN(4) > 0:
		case len(pads) > 0 && !hurry && w.r.IntN(2) == 0:
			return pads[w.r.IntN(len(pads))]
		default:
			return -1
		}
	}
	to, ends := w.p.next(i)
	switch {
	case len(to) == 0 || ends && (hurry || w.r.IntN(2) == 0):
		return -1
	case !hurry:
		return to[w.r.IntN(len(to))]
	case w.dist[i] < 0:
		w.turn[i]++
		return to[w.turn[i]%len(to)]
	}
	nearer := func(n int) bool { return w.dist[n] >= 0 && w.dist[n] < w.dist[i] }
	return to[slices.IndexFunc(to, nearer)]
}

// indexes returns the number that the parser gave each block.
func (p *testProgram) indexes(t *rapid.T, f *asm.Function) []int {
	out := make([]int, len(p.blocks))
	first := 0
	for _, fr := range f.Frags {
		at := map[string]int{"f": 0, "f.cold": p.cold}[fr.Name]
		out[at] = first
		labels := make(map[string]int)
		for _, l := range fr.Labels {
			labels[string(l.Name)] = l.Block
		}
		end := map[string]int{"f": p.cold, "f.cold": len(p.blocks)}[fr.Name]
		for i := at; i < end; i++ {
			if n, ok := labels[fmt.Sprintf(".L%d", i)]; ok {
				out[i] = first + n
			} else if i > at {
				out[i] = out[i-1] + 1
			}
		}
		if last := out[end-1] - first; last != len(fr.Blocks)-1 {
			t.Fatalf("%s: the last block is %d of %d", fr.Name, last, len(fr.Blocks))
		}
		first += len(fr.Blocks)
	}
	return out
}

func parseProgram(t *rapid.T, p *testProgram) (*asm.Unit, *asm.Function) {
	u, err := isa.Parse([]byte(p.text()), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range u.Funcs {
		if f.Name == "f" {
			return u, f
		}
	}
	t.Fatal("f is lost")
	return nil, nil
}

// TestImplied runs random programs: a block without a probe ran if and only if
// one of those did that are said to imply it.
func TestImplied(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		u, f := parseProgram(t, p)
		implied := inferred(f, u)
		index := p.indexes(t, f)
		seed := rapid.Uint64().Draw(t, "seed")
		for n := range 60 {
			ran := make([]bool, len(implied))
			for i, v := range p.run(rand.New(rand.NewPCG(seed, uint64(n)))) {
				ran[index[i]] = v
			}
			for b, by := range implied {
				if by == nil {
					continue
				}
				if want := slices.ContainsFunc(by, func(e int) bool { return ran[e] }); ran[b] != want {
					t.Fatalf("block %d ran: %v, but of %v which imply it ran: %v (all: %v)\n%s", b, ran[b], by, want, ran, p.text())
				}
			}
		}
	})
}

// TestReturning checks which helpers return.
func TestReturning(t *testing.T) {
	t.Parallel()
	u, err := isa.Parse([]byte(testHelpers), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range u.Funcs {
		if u.Returns[f.Name] {
			got = append(got, f.Name)
		}
	}
	if want := []string{"leaf", "outer"}; len(u.Funcs) != 14 || !slices.Equal(got, want) {
		t.Errorf("of %d functions come back: %v, want %v", len(u.Funcs), got, want)
	}
	if !u.Returns["memcpy"] || u.Returns["trunc"] {
		t.Error("memcpy does not come back, or the unit's own trunc does")
	}
}

// TestImpliedShapes has the control flow that the rules are made for. In the wanted result,
// 3<1,2 means that block 3 ran if and only if block 1 or 2 did.
func TestImpliedShapes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, code, want string }{
		{"diamond", "je .L2\nnop\njmp .L3\n.L2:\nnop\n.L3:\nret", "3<0"},
		{"diamond behind a call", "call ext\n.L1:\nje .L2\nnop\njmp .L3\n.L2:\nnop\n.L3:\nret", "1<2,3 4<2,3"},
		{"diamond that a call may leave", "call ext\n.L1:\nje .L2\ncall ext\njmp .L3\n.L2:\nnop\n.L3:\nret", "1<2,3"},
		{"loop", ".L1:\nje .L2\nnop\njmp .L1\n.L2:\nret", "1<0 3<0"},
		{"loop with a call", ".L1:\nje .L2\ncall ext\njmp .L1\n.L2:\nret", "1<0"},
		{"loop of a known call", ".L1:\nje .L2\ncall strlen\njmp .L1\n.L2:\nret", "1<0 3<0"},
		{"loop without an end", "je .L2\n.L1:\njmp .L1\n.L2:\nret", ""},
		{"early return", "je .L9\nnop\n.L2:\njne .L9\nnop\n.L3:\nret\n.L9:\nret", "2<1 4<3"},
		{"shared error exit", "call ext\nje .L9\ncall ext\nje .L9\ncall ext\nret\n.L9:\ncall ext\nret", ""},
		{"call that exits in the middle", "je .L9\ncall exit\nnop\n.L2:\nret\n.L9:\nret", ""},
		{"block before a choice", "call ext\n.L1:\nje .L3\nret\n.L3:\nret", "1<2,3"},
		{"computed jump", "je .L1\njmp *%rax\n.L1:\nret", ""},
		{"jump table", "jmp *.L9(,%rax,8)\n.L1:\nnop\n.L2:\nret\n.section .rodata\n.L9:\n.quad .L1, .L2\n.text", ""},
		{"tail call", "je .L1\njmp ext\n.L1:\nret", ""},
		{"landing pad", "call ext\n.L1:\nret\n.L2:\nnop\njmp .L1\n.section .gcc_except_table\n.uleb128 .L2-f\n.text", ""},
		{"inline assembly", "je .L1\n#APP\nint $0x80\n#NO_APP\n.L2:\nret\n.L1:\nret", ""},
		{"asm goto", "je .L3\n#APP\njmp .L1\n#NO_APP\nret\n.L1:\nret\n.L3:\nret", ""},
		{"retpoline", "je .L1\njmp .LIND1\n.LIND0:\ncall .LIND3\n.LIND2:\npause\njmp .LIND2\n.LIND3:\nret\n.LIND1:\ncall .LIND0\n.L4:\nret\n.L1:\nret", "5<1"},
		{"code that seems dead", "je .L2\njmp .L3\n.L1:\njmp .L3\n.L2:\nret\n.L3:\nret", "4<1,2"},
		{
			"cold fragment", "je .L2\n.L1:\nret\n.size f, .-f\n.section .text.unlikely\n.type f.cold, @function\nf.cold:\n.L2:\nnop\n.L3:\njmp .L1",
			"1<0 3<2",
		},
		{
			"cold fragment entered by its name",
			"je .L1\njmp f.cold\n.L1:\nje .L2\nnop\n.L2:\nret\n.size f, .-f\n.section .text.unlikely\n.type f.cold, @function\nf.cold:\nnop\njmp .L2",
			"4<2,3,5",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			u, err := isa.Parse([]byte(".text\n.type f, @function\nf:\n"+tc.code+"\n"), machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for b, by := range inferred(u.Funcs[0], u) {
				if by != nil {
					got = append(got, fmt.Sprintf("%d<%s", b, strings.ReplaceAll(strings.Trim(fmt.Sprint(by), "[]"), " ", ",")))
				}
			}
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("implied: %s, want %s", s, tc.want)
			}
		})
	}
}

// TestPlainCalls checks that blocks end at calls in code that was not optimised. 3<1,2 is as above.
func TestPlainCalls(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, code string
		blocks     int
		want       string
	}{
		{"two calls", "call ext\nnop\ncall ext\nnop\nret", 3, ""},
		{"before a branch", "call ext\njne .L1\nnop\n.L1:\nret", 4, "3<1"},
		{"before a choice", "call ext\njne .L1\nret\n.L1:\nret", 4, "1<2,3"},
		{"that returns", "call strlen\nnop\nret", 2, "1<0"},
		{"computed", "call *%rax\nnop\nret", 2, ""},
		{"at the end", "call exit\n.size f, .-f", 1, ""},
		{"before a label", "call ext\n.L1:\nnop\nret", 2, ""},
		{"within a retpoline", "call .L1\n.L2:\npause\njmp .L2\n.L1:\nret", 3, ""},
		{"that returns twice", "call _setjmp\nendbr64\nnop\nret", 2, ""},
		{"in code that nothing leads to", "ret\ncall ext\nnop\nret", 1, ""},
	} {
		var got []string
		u := parsePlain(t, tc.code)
		implied := inferred(u.Funcs[0], u)
		for b, by := range implied {
			if by != nil {
				got = append(got, fmt.Sprintf("%d<%s", b, strings.ReplaceAll(strings.Trim(fmt.Sprint(by), "[]"), " ", ",")))
			}
		}
		if s := strings.Join(got, " "); s != tc.want || len(implied) != tc.blocks {
			t.Errorf("%s: %d blocks, implied: %s; want %d, %s", tc.name, len(implied), s, tc.blocks, tc.want)
		}
	}
	out, _ := Rewrite(parsePlain(t, "call _setjmp\nendbr64\nnop\nret"), Options{Mode: prof.ModeBlock})
	if !strings.Contains(string(out), "call _setjmp\nendbr64\n") {
		t.Errorf("the place where setjmp returns to is not right behind its call:\n%s", out)
	}
}

// parsePlain parses a function that was compiled without optimisation.
func parsePlain(t *testing.T, code string) *asm.Unit {
	t.Helper()
	u, err := isa.ParseAs(asm.ParseOptions{Plain: true}, []byte(".text\n.type f, @function\nf:\n"+code+"\n"), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

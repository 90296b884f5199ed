package probe

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
)

// A counter needs two registers, and changes no flags. With --atomic it is an atomic instruction, or a pair of exclusive
// accesses, which needs a third register:
//
//	adrp x16, rec              adrp x16, rec               adrp x16, rec
//	ldr  x17, [x16, lo12]      add  x16, x16, lo12         add  x16, x16, lo12
//	add  x17, x17, 1           mov  x17, 1                 ldxr x17, [x16]
//	str  x17, [x16, lo12]      stadd x17, [x16]            add  x17, x17, 1
//	                                                       stxr w15, x17, [x16]
//	                                                       cbnz w15, .-12
//
// Between the exclusive accesses of a program there must be no others: a store by a counter might make the program's fail
// for ever. Functions that have some have the counter of their calls alone.

// aarch64Counters are the places of the counters of a function.
type aarch64Counters struct {
	r      *Rewriter
	live   []aarch64.Set // at the beginning of each block of the function; nil: x16 and x17 are free in all of it
	places []aarch64CounterPlace
}

// aarch64CounterPlace is the place of a counter.
type aarch64CounterPlace struct {
	aarch64Place
	way countWay
}

// countWay is how a counter is incremented.
type countWay uint8

const (
	countPlain countWay = iota
	countLSE
	countExclusive
)

// registers returns how many registers the counter needs.
func (w countWay) registers() int {
	if w == countExclusive {
		return 3
	}
	return 2
}

func (aarch64Probes) count(r *Rewriter, fn *asm.Function) *counted {
	for _, f := range fn.Frags {
		if hasExclusives(r.Unit.Src[f.Label:f.End]) {
			return onlyCalls(fn)
		}
	}
	places := &aarch64Counters{r: r}
	if r.Opts.Atomic || r.usesVeneers(fn) {
		places.live = aarch64.Live(r.Unit, fn)
	}
	c := r.planCounters(fn, places)
	if c.implied == nil || !r.reachBlocks(c.fn, c.implied, places.size) {
		return onlyCalls(fn)
	}
	return c
}

// hasExclusives reports whether a text has exclusive loads.
func hasExclusives(text []byte) bool {
	for _, word := range []string{"ldxr", "ldaxr", "ldxp", "ldaxp"} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}

// free returns the registers that are not live at the beginning of a block of the function.
func (c *aarch64Counters) free(block int) aarch64.Set {
	if c.live == nil {
		return aarch64.VeneerRegs
	}
	return aarch64.TrackedRegs &^ c.live[block]
}

func (c *aarch64Counters) dear(block int) bool { return aarch64Place{free: c.free(block)}.spills(2) }

func (c *aarch64Counters) add(f *asm.Fragment, at, block int, _ bool) {
	p := aarch64CounterPlace{aarch64Place: aarch64Place{free: c.free(block)}}
	switch {
	case !c.r.Opts.Atomic:
	case aarch64.HasLSE(f.Arch):
		p.way = countLSE
	default:
		p.way = countExclusive
	}
	p.onStack = p.spills(p.way.registers()) && c.r.onStack(f, at)
	c.places = append(c.places, p)
}

func (c *aarch64Counters) probe(block int, rec position) string {
	p := &c.places[block]
	return p.with(p.way.registers(), func(use []int) string {
		base, value, at := "x"+strconv.Itoa(use[0]), "x"+strconv.Itoa(use[1]), rec.String()
		page := "\tadrp\t" + base + ", " + at + "\n"
		address := page + "\tadd\t" + base + ", " + base + ", :lo12:" + at + "\n"
		more := "\tadd\t" + value + ", " + value + ", 1\n"
		switch p.way {
		case countLSE:
			return address + "\tmov\t" + value + ", 1\n\tstadd\t" + value + ", [" + base + "]\n"
		case countExclusive:
			failed := "w" + strconv.Itoa(use[2])
			return address + "\tldxr\t" + value + ", [" + base + "]\n" + more +
				"\tstxr\t" + failed + ", " + value + ", [" + base + "]\n\tcbnz\t" + failed + ", .-12\n"
		}
		operands := "\t" + value + ", [" + base + ", :lo12:" + at + "]\n"
		return page + "\tldr" + operands + more + "\tstr" + operands
	})
}

// size returns the bytes of the counter of a block.
func (c *aarch64Counters) size(block int) int {
	p := &c.places[block]
	size := 16
	if p.way == countExclusive {
		size = 24
	}
	return size + p.spillSize(p.way.registers())
}

// aarch64Branches are the branches of AArch64.
var aarch64Branches = branching{
	jump: "b",
	opposite: func(line, label []byte) (string, bool) {
		s, ops := aarch64Statement(line)
		flow, _ := aarch64.Machine{}.Classify(s.Word, s.Rest)
		if flow != asm.FlowBranch || !bytes.Equal(ops[len(ops)-1], label) || bytes.HasSuffix(s.Word, []byte("al")) {
			return "", false
		}
		var text strings.Builder
		text.WriteString(aarch64.Opposite(string(s.Word)) + "\t")
		for _, op := range ops[:len(ops)-1] {
			text.Write(op)
			text.WriteString(", ")
		}
		return text.String(), true
	},
	jumps: func(line, label []byte) bool {
		s, ops := aarch64Statement(line)
		return string(s.Word) == "b" && len(ops) == 1 && bytes.Equal(ops[0], label)
	},
}

// aarch64Statement returns the instruction of a line and its operands: none if it is not alone on the line.
func aarch64Statement(line []byte) (s asm.Statement, ops [][]byte) {
	s = asm.ParseLine(bytes.TrimRight(line, "\r\n"))
	if ops = asm.InsnOperands(s.Rest); s.Kind != asm.LineInsn || bytes.IndexByte(s.Rest, ';') >= 0 || len(ops) == 0 {
		return asm.Statement{Word: []byte("nop")}, nil
	}
	return s, ops
}

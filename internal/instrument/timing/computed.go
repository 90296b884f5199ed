package timing

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Clang marks neither tail calls nor jumps to addresses of blocks on AArch64 and on Armv7, and writes no unwind directives for
// the end of a frame for Mach-O.

// keepsReturn reports whether one of some instructions saves the return address in the stack, with the word st, or, with ld,
// restores it.
func (b *body) keepsReturn(from, to int, word string) bool {
	return slices.ContainsFunc(b.insns[from:to], func(in bodyInsn) bool {
		stack := strings.HasPrefix(in.word, word) && (bytes.Contains(in.rest, []byte("[sp")) || bytes.HasPrefix(in.rest, []byte("sp!")))
		return (stack || in.word == map[string]string{"st": "push", "ld": "pop"}[word]) && (mentions(in.rest, "x30") || mentions(in.rest, "lr"))
	})
}

// mentions reports whether text has a name as a word.
func mentions(text []byte, name string) bool {
	for word := range bytes.FieldsFuncSeq(text, func(r rune) bool { return r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' }) {
		if string(word) == name {
			return true
		}
	}
	return false
}

// blockStart returns the first instruction of the block of instruction i.
func (b *body) blockStart(i int) int {
	for i > 0 && b.insns[i-1].block == b.insns[i].block {
		i--
	}
	return i
}

// takesBlocks reports whether code takes the addresses of blocks of b, to jump to them, by clang's comment.
func (t *timer) takesBlocks(b *body) bool {
	return slices.ContainsFunc(b.frags, func(f *asm.Fragment) bool {
		return bytes.Contains(t.Unit.Src[f.Label:f.End], []byte("Block address taken"))
	})
}

// leavesBlocks is isTail for a body that jumps to addresses of its blocks. A jump behind the end of the frame leaves it. A
// frame that the entry makes has an end on each way out. Without one, a target is loaded by an index, or through a pointer
// that moves on, or is a constant in memory, and what a call goes to is a register that nothing else uses: an argument.
func (b *body) leavesBlocks(i int) (tail, known bool) {
	start, entry := b.blockStart(i), 0
	for entry < len(b.insns) && b.insns[entry].block == b.insns[0].block {
		entry++
	}
	if tail = b.keepsReturn(start, i, "ld"); tail || b.keepsReturn(0, entry, "st") {
		return tail, true
	}
	register := string(b.insns[i].rest)
	used := func(in bodyInsn) bool {
		return in.flow != asm.FlowJump && (mentions(in.rest, register) || mentions(in.rest, strings.Replace(register, "x", "w", 1)))
	}
	if !slices.ContainsFunc(b.insns, used) {
		return true, true
	}
	for k := i - 1; k >= start; k-- {
		if in := &b.insns[k]; used(*in) {
			to, from, _ := bytes.Cut(in.rest, []byte("["))
			index := bytes.Contains(from, []byte("lsl")) || bytes.Contains(from, []byte("xtw"))
			moves := bytes.HasSuffix(from, []byte("!")) || bytes.Contains(from, []byte("],"))
			constant := bytes.Contains(from, []byte("CPI")) // lCPI0_0@PAGEOFF; a function's would be called by its name
			return false, in.word == "ldr" && mentions(to, register) && (index || moves || constant)
		}
	}
	return false, false
}

package perfscript

import (
	"bytes"

	"github.com/cairnprof/cairn/sample"
)

// recordMark is in every line with an event, after what -F prints in front.
var recordMark = []byte("PERF_RECORD_")

// other parses a line that is more than an address: rest is line without its margin, and begins with an address
// of n digits.
func (p *parser) other(line, rest []byte, addr uint64, n int) {
	if line[0] == '#' || bytes.HasPrefix(line, []byte("//")) {
		return // a comment
	}
	if isDecimal(line) { // too long for an address
		p.count(line)
		return
	}
	if i := bytes.Index(line, recordMark); i >= 0 {
		p.finish()
		p.event(line[i+len(recordMark):])
		return
	}
	if i := branchesAt(line); i >= 0 {
		// What was sampled comes first, possibly with its address. The stack, if any, was before.
		if h, ok := ParseHeader(withoutAddress(line[:i])); ok {
			p.begin(h)
		}
		p.branches(line[i:])
		return
	}
	if id, addr, size := idAddress(rest); size > 0 && (size == len(rest) || isBlank(rest[size])) {
		p.frame(p.place(id, addr))
		return
	}
	// Stacks are indented by a tab. With blanks, and where no stack has begun, a
	// number can be that of a process.
	if line[0] != '\t' && !p.flat && (p.frames == 0 || p.single) {
		if h, ok := ParseHeader(line); ok {
			p.begin(h)
			p.alone(h.Rest)
			return
		}
	}
	switch {
	case n > 0 && bytes.HasPrefix(bytes.TrimLeft(rest[n:], " \t"), []byte("insn:")):
		p.bad(badInstructions)
	case p.frames > 0 && isSourceLine(rest):
		// of the frame before, with -F srcline
	case n > 0 && isBlank(rest[n]):
		// A symbol follows. Inlined frames have the address of the frame that they
		// were inlined into.
		if !bytes.HasSuffix(bytes.TrimRight(rest, " \t"), []byte("(inlined)")) {
			p.frame(p.place(nil, addr))
		}
	case isSymbols(rest):
		p.bad(badSymbols)
		p.finish()
	default:
		p.bad(badLine)
	}
}

// begin handles the header line of a sample.
func (p *parser) begin(h Header) {
	count, unwanted := p.next.Count, p.unwanted
	if frames, _ := p.batch.Depth(); frames > 0 {
		p.finish()
		count, unwanted = 1, false
	}
	p.reset()
	p.next.Count, p.unwanted, p.begun = count, unwanted, true
	p.next.PID, p.next.TID = h.PID, h.TID
	p.hasPIDs = p.hasPIDs || h.PID != sample.UnknownPID
}

// alone adds the address of a sample without a stack, which is in the line that is before others: rest is its end.
func (p *parser) alone(rest []byte) {
	const least = 4 // digits: Linux maps no lower addresses, and there may be other words
	addr, n := hex(rest)
	if n < least || n < len(rest) && !isBlank(rest[n]) {
		return
	}
	p.frame(p.place(nil, addr))
	p.single = true
}

// withoutAddress returns a line without its last word if that is an address.
func withoutAddress(line []byte) []byte {
	line = bytes.TrimRight(line, " \t")
	word := line[bytes.LastIndexAny(line, " \t")+1:]
	_, n := hex(word)
	if _, _, size := idAddress(word); size > 0 {
		n = size
	}
	if n == len(word) {
		return line[:len(line)-n]
	}
	return line
}

// hasBranches reports whether there is a branch in a line.
func hasBranches(line []byte) bool { return branchesAt(line) >= 0 }

// branchesAt returns where the first branch of a line is, a word that begins as
// 0xFROM/0xTO does, with or without build ids, or -1.
func branchesAt(line []byte) int {
	for i := 0; ; i++ {
		next := bytes.Index(line[i:], []byte("0x"))
		if next < 0 {
			return -1
		}
		i += next
		start := i
		if i > 0 && line[i-1] == ':' {
			for start--; start > 0 && digits[line[start-1]] != noDigit; start-- {
			}
		}
		if start > 0 && !isBlank(line[start-1]) {
			continue
		}
		if _, n := branch(line[start:]); n > 0 {
			return start
		}
	}
}

// isSourceLine reports whether a line is what -F srcline prints: file.c:12, or lib.so[1f0] where the line is not known.
func isSourceLine(rest []byte) bool {
	rest = bytes.TrimRight(rest, " \t")
	if i := bytes.LastIndexByte(rest, '['); i >= 0 && rest[len(rest)-1] == ']' {
		_, n := hex(rest[i+1:])
		return n > 0 && n == len(rest)-i-2
	}
	i := bytes.LastIndexByte(rest, ':')
	return i >= 0 && isDecimal(rest[i+1:])
}

// isSymbols reports whether a line begins as -F brstacksym prints branches:
// from+0x1/to+0x2/P/-/-/0.
func isSymbols(rest []byte) bool {
	word := rest
	if i := bytes.IndexByte(rest, ' '); i >= 0 {
		word = rest[:i]
	}
	const slashes = 4
	return bytes.Count(word, []byte("+0x")) > 0 && bytes.Count(word, []byte("/")) >= slashes
}

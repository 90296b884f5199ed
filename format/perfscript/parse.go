package perfscript

import (
	"bytes"

	"github.com/cairnprof/cairn/sample"
)

const (
	// maxFrames and maxBranches bound a sample. By default stacks are recorded to 127 frames, and no hardware
	// has over 64 branches.
	maxFrames   = 8192
	maxBranches = 4096
)

// What can be wrong with a text.
const (
	badLine         = "a line is neither part of a sample nor an event and was skipped"
	badBranch       = "a branch is not of the form 0xFROM/0xTO/...: the rest of its line was skipped"
	badSymbols      = "branches are printed as symbols and were skipped: print them as addresses, with -F ip,brstack"
	badOffsets      = "branches are printed as offsets in files, some of them (brstackoff), and were skipped: print them as addresses, with -F ip,brstack"
	badInstructions = "instructions between branches were skipped: print the branches alone, with -F ip,brstack"
	badEvent        = "an event of memory or tasks cannot be read and was skipped"
	badCount        = "a count of samples is 0 or too large: its sample was skipped"
	deepStack       = "a stack has more than 8192 frames and was truncated"
	wideSample      = "a sample has more than 4096 branches: the oldest were skipped"
)

// parser parses the samples of a block.
type parser struct {
	*block

	batch    *sample.Batch
	line     int64             // of the block, counted from 1
	start    int64             // of the line, counted from that of the block
	next     sample.Sample     // the current sample, as far as it was parsed
	frames   int               // number of frames of next
	begun    bool              // the count of next, or the line before it, was parsed
	single   bool              // the frame of next is from the line before it
	unwanted bool              // next is parsed, but will not be used
	slots    map[string]uint64 // of build ids
}

// parse parses a block.
func parse(b *block) {
	p := parser{block: b, batch: sample.NewBatch()}
	p.reset()
	text := b.text
	for len(text) > 0 {
		line, rest := text, []byte(nil)
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, rest = text[:i], text[i+1:]
		}
		p.line++
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		p.parseLine(line)
		p.start += int64(len(text) - len(rest))
		text = rest
	}
	p.finish()
	b.lines = p.line
	b.batches = append(b.batches, p.batch)
}

func (p *parser) reset() {
	p.next = sample.Sample{PID: sample.UnknownPID, TID: sample.UnknownPID, Count: 1}
	p.frames, p.begun, p.single, p.unwanted = 0, false, false, false
}

// bad records an error in this line.
func (p *parser) bad(what string) { p.damage(what, p.line, p.start) }

// parseLine parses the most frequent kinds of lines itself.
func (p *parser) parseLine(line []byte) {
	if p.flat {
		line = WithoutData(line)
	}
	i := 0
	for i < len(line) && isBlank(line[i]) {
		i++
	}
	rest := line[i:]
	if len(rest) == 0 {
		p.finish()
		return
	}
	if len(rest) > 2 && rest[0] == '0' && rest[1] == 'x' {
		p.branches(rest)
		return
	}
	addr, n := hex(rest)
	switch {
	case n == 0 || n < len(rest):
		p.other(line, rest, addr, n)
	case i == 0 && p.frames == 0 && !p.begun && isDecimal(rest):
		p.count(rest)
	default:
		p.frame(p.place(nil, addr))
	}
}

// frame adds a frame to the current sample. If its first was from the line before it, that was the address of data
// (-F addr), since this is a stack.
func (p *parser) frame(addr uint64) {
	if p.flat {
		p.finish()
	}
	if p.single {
		p.batch.DropFrames()
		p.frames, p.single = 0, false
	}
	if p.frames++; p.frames <= maxFrames {
		p.batch.Frame(addr)
	} else if p.frames == maxFrames+1 {
		p.bad(deepStack)
	}
}

// count parses the count of the next sample.
func (p *parser) count(digits []byte) {
	n := uint64(0)
	for _, c := range digits {
		n = n*10 + uint64(c-'0')
	}
	p.begun = true
	p.next.Count = n
	const most = 18 // digits, so that sums of counts do not overflow soon
	if n == 0 || len(digits) > most {
		p.bad(badCount)
		p.next.Count, p.unwanted = 1, true
	}
}

// branches parses the branches of a sample, which end it.
func (p *parser) branches(s []byte) {
	if p.offsets {
		p.bad(badOffsets)
		p.finish()
		return
	}
	if p.single {
		p.batch.DropFrames() // a sample without a stack
	}
	for n := 0; len(s) > 0; n++ {
		x, size := branch(s)
		wrong := size > 0 && bytes.HasSuffix(s[:size], wrongPath)
		if size == 0 {
			p.bad(badBranch)
			break
		}
		if p.offset(&x) {
			p.bad(badOffsets)
			p.batch.DropBranches()
			p.offsets = true
			break
		}
		if n == maxBranches {
			p.bad(wideSample)
			break
		}
		if wrong {
			p.stats.WrongPath++
		} else {
			p.batch.Branch(p.place(x.fromID, x.from), p.place(x.toID, x.to), x.flag == 'M')
		}
		s = s[size:]
		for len(s) > 0 && isBlank(s[0]) {
			s = s[1:]
		}
	}
	p.finish()
}

// wrongPath is the last field of a branch that was not executed.
var wrongPath = []byte("/SPEC_WRONG_PATH")

// branchText is a branch as it is printed. Its build ids are nil if there are none.
type branchText struct {
	from, to     uint64
	fromID, toID []byte
	flag         byte
	// fromFile and toFile are the files in parentheses, empty if there are none.
	fromFile, toFile []byte
}

// branch parses 0xFROM/0xTO/FLAG/..., and returns its length, 0 if it is something else. It skips files in
// parentheses after the addresses.
func branch(s []byte) (x branchText, size int) {
	var n, m int
	if x.fromID, x.from, n = end(s); n == 0 {
		return x, 0
	}
	x.fromFile = s[n : n+fileLength(s[n:])]
	n += len(x.fromFile)
	if n >= len(s) || s[n] != '/' {
		return x, 0
	}
	n++
	if x.toID, x.to, m = end(s[n:]); m == 0 {
		return x, 0
	}
	n += m
	x.toFile = s[n : n+fileLength(s[n:])]
	n += len(x.toFile)
	if n+1 < len(s) && s[n] == '/' {
		x.flag = s[n+1]
	}
	for n < len(s) && !isBlank(s[n]) {
		n++
	}
	return x, n
}

// end parses an end of a branch, whose address begins with 0x and may be after a build id.
func end(s []byte) (id []byte, addr uint64, size int) {
	if addr, size = prefixedHex(s); size > 0 {
		return nil, addr, size
	}
	at := idLength(s)
	if at == 0 {
		return nil, 0, 0
	}
	addr, n := prefixedHex(s[at:])
	if n == 0 {
		return nil, 0, 0
	}
	return s[:at-1], addr, at + n
}

// fileLength returns the length of a name in parentheses at the start of s, 0 if there is none.
func fileLength(s []byte) int {
	if len(s) == 0 || s[0] != '(' {
		return 0
	}
	if end := bytes.Index(s, []byte(")/")); end > 0 { // names can contain anything else
		return end + 1
	}
	return 0
}

// finish ends a sample, if one was begun.
func (p *parser) finish() {
	frames, branches := p.batch.Depth()
	switch {
	case p.unwanted:
		p.batch.Drop()
	case frames > 0 || branches > 0:
		p.stats.Add(p.batch.End(p.next))
		p.hybrid = p.hybrid || frames > 0 && branches > 0
	case !p.begun:
		return // nothing to reset
	}
	p.reset()
}

// digits has the value of each hexadecimal digit, and noDigit for other characters.
var digits = func() (t [256]uint8) {
	for i := range t {
		t[i] = noDigit
	}
	for i := range uint8(10) {
		t['0'+i] = i
	}
	for i := range uint8(6) {
		t['a'+i], t['A'+i] = i+10, i+10
	}
	return t
}()

const noDigit = 0xff

// hex parses the hexadecimal number at the start of s, and returns its number of digits: 0 if there are none,
// or if it exceeds 64 bits.
func hex(s []byte) (v uint64, n int) {
	for n < len(s) {
		d := digits[s[n]]
		if d == noDigit {
			break
		}
		v = v<<4 | uint64(d)
		n++
	}
	const most = 16
	if n > most {
		return 0, 0
	}
	return v, n
}

// prefixedHex parses a number after 0x, and returns the length of both.
func prefixedHex(s []byte) (v uint64, n int) {
	if len(s) < 3 || s[0] != '0' || s[1] != 'x' {
		return 0, 0
	}
	if v, n = hex(s[2:]); n > 0 {
		n += 2
	}
	return v, n
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isDecimal(s []byte) bool {
	for _, c := range s {
		if c-'0' > 9 {
			return false
		}
	}
	return len(s) > 0
}

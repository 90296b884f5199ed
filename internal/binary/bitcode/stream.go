package bitcode

import "fmt"

// reader reads the stream.
type reader struct {
	data []byte
	pos  int // in bits
	err  error

	kind             Kind
	known            bool // kind is
	strings, symbols []byte
}

// Identifiers that are valid in all blocks.
const (
	endBlock = iota
	enterBlock
	defineAbbreviation
	unabbreviated
	firstAbbreviation
)

// topBlock is the pseudo-block that contains the blocks of a file.
const topBlock = -1

// Limits that no real file exceeds: the length of abbreviations, and their number.
const (
	maxOperands      = 1 << 12
	maxAbbreviations = 1 << 12
)

func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("bitcode: at offset %#x: %s", r.pos/8, fmt.Sprintf(format, args...))
	}
}

// fixed reads a number of n bits, at most 64.
func (r *reader) fixed(n uint) uint64 {
	if n > 64 || r.pos+int(n) > len(r.data)*8 {
		r.failf("%d more bits are expected", n)
		return 0
	}
	var v uint64
	for i := uint(0); i < n; {
		bit := uint(r.pos & 7)
		take := min(8-bit, n-i)
		v |= uint64(r.data[r.pos>>3]>>bit&(1<<take-1)) << i
		i += take
		r.pos += int(take)
	}
	return v
}

// vbr reads a number in groups of n bits; the highest bit of a group is set if another
// follows.
func (r *reader) vbr(n uint) uint64 {
	if n < 2 || n > 32 {
		r.failf("groups of %d bits", n)
		return 0
	}
	var v uint64
	for shift := uint(0); r.err == nil; shift += n - 1 {
		group := r.fixed(n)
		if shift < 64 {
			v |= group & (1<<(n-1) - 1) << shift
		}
		if group>>(n-1) == 0 {
			break
		}
	}
	return v
}

// align skips to the next multiple of 32 bits.
func (r *reader) align() { r.pos = (r.pos + 31) &^ 31 }

// block reads the top level of the file, or the block that starts here.
func (r *reader) block(width uint, in int) {
	var abbreviations [][]operand
	for r.err == nil {
		if in == topBlock && r.pos+32 > len(r.data)*8 {
			return
		}
		switch id := r.fixed(width); id {
		case endBlock:
			if in == topBlock {
				r.failf("the end of a block outside of one")
				return
			}
			r.align()
			return
		case enterBlock:
			r.enter(in)
		case defineAbbreviation:
			if abbreviations = append(abbreviations, r.abbreviation()); len(abbreviations) > maxAbbreviations {
				r.failf("more than %d abbreviations", maxAbbreviations)
			}
		case unabbreviated:
			r.vbr(6)
			for n := r.vbr(6); n > 0 && r.err == nil; n-- {
				r.vbr(6)
			}
		default:
			if id-firstAbbreviation >= uint64(len(abbreviations)) {
				r.failf("abbreviation %d is not defined", id)
				return
			}
			r.record(abbreviations[id-firstAbbreviation], in)
		}
	}
}

// enter reads the head of a block and then the block, if it has records of interest. Other
// blocks are skipped by the length in their head.
func (r *reader) enter(in int) {
	id, width := r.vbr(8), uint(r.vbr(4))
	r.align()
	size := r.fixed(32)
	end := r.pos + int(size)*32
	if end > len(r.data)*8 {
		r.failf("a block of %d bytes, longer than the file", size*4)
	}
	switch {
	case r.err != nil:
		return
	case in == moduleBlock && !r.known && (id == thinSummaryBlock || id == fullSummaryBlock):
		r.known = true
		if id == thinSummaryBlock {
			r.kind = Thin
		}
	case in == topBlock && (id == moduleBlock && !r.known || id == stringsBlock || id == symbolsBlock):
		r.block(width, int(id))
	}
	r.pos = end
}

// operand is an element of an abbreviation.
type operand struct {
	encoding uint64 // encodings, or literal
	value    uint64 // of a literal, or its bits
}

// Encodings of operands.
const (
	literal = iota
	fixedWidth
	variableWidth
	array
	char6
	blob
)

func (r *reader) abbreviation() []operand {
	n := r.vbr(5)
	if n > maxOperands {
		r.failf("an abbreviation of %d operands", n)
		return nil
	}
	var ops []operand
	for ; n > 0 && r.err == nil; n-- {
		if r.fixed(1) == 1 {
			ops = append(ops, operand{literal, r.vbr(8)})
			continue
		}
		o := operand{encoding: r.fixed(3)}
		switch o.encoding {
		case fixedWidth, variableWidth:
			if o.value = r.vbr(5); o.value == 0 { // as LLVM reads it: always zero
				o.encoding = literal
			}
		case array, char6, blob:
		default:
			r.failf("encoding %d is unknown", o.encoding)
		}
		ops = append(ops, o)
	}
	return ops
}

// record reads a record by its abbreviation; only blobs are stored.
func (r *reader) record(ops []operand, in int) {
	code := uint64(0)
	for i := 0; i < len(ops) && r.err == nil; i++ {
		switch o := ops[i]; o.encoding {
		case array:
			if i+2 != len(ops) {
				r.failf("an array is not the last operand")
				return
			}
			n := r.vbr(6)
			if ops[i+1].encoding == literal {
				return // elements without bits
			}
			for ; n > 0 && r.err == nil; n-- {
				r.scalar(ops[i+1])
			}
			return
		case blob:
			r.blob(code, in)
		default:
			v := r.scalar(o)
			if i == 0 {
				code = v
			}
		}
	}
}

func (r *reader) scalar(o operand) uint64 {
	switch o.encoding {
	case literal:
		return o.value
	case fixedWidth:
		return r.fixed(uint(o.value))
	case variableWidth:
		return r.vbr(uint(o.value))
	case char6:
		return r.fixed(6)
	}
	r.failf("encoding %d in an array", o.encoding)
	return 0
}

func (r *reader) blob(code uint64, in int) {
	n := r.vbr(6)
	r.align()
	start := r.pos / 8
	if r.err != nil || n > uint64(len(r.data)-min(start, len(r.data))) {
		r.failf("a blob of %d bytes, longer than the file", n)
		return
	}
	data := r.data[start : start+int(n)]
	r.pos += int(n) * 8
	r.align()
	switch {
	case code != blobRecord:
	case in == stringsBlock && r.strings == nil:
		r.strings = data
	case in == symbolsBlock && r.symbols == nil:
		r.symbols = data
	}
}

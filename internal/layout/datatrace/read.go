package datatrace

import (
	"bufio"
	"errors"
	"io"
)

// Errors of Read.
var (
	ErrNoTrace = errors.New("not a log of valgrind --tool=lackey --trace-mem=yes: it has no accesses")
	ErrOther   = errors.New("the trace is of another program: the instructions at the entry point do not run in it")
)

// Read reads a trace.
func (r *Recorder) Read(in io.Reader) error {
	t := trace{Recorder: r, early: map[access]bool{}}
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) { // no line of a trace is that long: its rest is other text
			continue
		}
		t.line(line)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	switch {
	case t.lines == 0:
		return ErrNoTrace
	case !t.begun:
		return ErrOther
	}
	return nil
}

// trace is a trace that is being read.
type trace struct {
	*Recorder
	lines int
	// The dynamic linker runs before the program, and writes to its data. Accesses are stored
	// until the entry point is found.
	early   map[access]bool
	waiting []access
	begun   bool
	bias    uint64 // difference to link-time addresses
	start   uint64 // of the instructions that may be those at the entry point
	matched int    // how many of them match
	expect  uint64 // address of the next one
}

type access struct{ addr, size uint64 }

// maxWaiting limits the stored accesses: a dynamic linker has some 10,000.
const maxWaiting = 1 << 22

// line parses a line of a trace, and skips other text.
func (t *trace) line(b []byte) {
	if len(b) < 5 || b[2] != ' ' {
		return
	}
	kind := b[0]
	if kind == ' ' {
		kind = b[1]
	}
	addr, rest := number(b[3:], 16)
	if len(rest) == 0 || rest[0] != ',' {
		return
	}
	size, rest := number(rest[1:], 10)
	if rest == nil || size == 0 || size > 1<<16 {
		return
	}
	switch kind {
	case 'I':
		t.lines++
		if !t.begun {
			t.instruction(addr)
		}
	case 'L', 'S', 'M':
		t.lines++
		t.data(addr, size)
	}
}

// number parses a number. rest is nil if there is none.
func number(b []byte, base uint64) (v uint64, rest []byte) {
	i := 0
	for ; i < len(b); i++ {
		d := uint64(b[i] - '0')
		if b[i] >= 'a' && b[i] <= 'f' {
			d = uint64(b[i]-'a') + 10
		} else if b[i] < '0' || b[i] > '9' {
			break
		}
		if d >= base || v > (1<<64-1-d)/base {
			return 0, nil
		}
		v = v*base + d
	}
	if i == 0 {
		return 0, nil
	}
	return v, b[i:]
}

// instruction searches the entry point.
func (t *trace) instruction(addr uint64) {
	p := t.program
	switch {
	case t.matched > 0 && addr == t.expect:
	case addr%PageSize == p.Entry%PageSize:
		t.start, t.matched, t.expect = addr, 0, addr
	default:
		t.matched = 0
		return
	}
	if t.matched == len(p.Lengths) {
		return
	}
	t.expect += uint64(p.Lengths[t.matched])
	t.matched++
	if t.matched < len(p.Lengths) {
		return
	}
	t.begun, t.bias = true, t.start-p.Entry
	for _, a := range t.waiting {
		t.access(a.addr-t.bias, a.size)
	}
	t.early, t.waiting = nil, nil
}

// data processes an access.
func (t *trace) data(addr, size uint64) {
	if t.begun {
		t.access(addr-t.bias, size)
		return
	}
	if a := (access{addr, size}); !t.early[a] && len(t.waiting) < maxWaiting {
		t.early[a] = true
		t.waiting = append(t.waiting, a)
	}
}

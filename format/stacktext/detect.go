package stacktext

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/sample"
)

// Detect returns the kind of the text that begins with head, Unknown if it is none of these.
func Detect(head []byte) Kind {
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1] // the line after it may be cut off
	}
	if len(head) == 0 || bytes.IndexByte(head, 0) >= 0 {
		return Unknown
	}
	for _, k := range []Kind{MacSample, Instruments, Simpleperf, Bpftrace, Perf, DTrace} { // those with the most marks first
		if k.detect(head) {
			return k
		}
	}
	return Unknown
}

var (
	mapLine   = lazyregexp.New(`(?m)^@\w*\[`)
	graphLine = lazyregexp.New(`(?m)^\s*Call graph:\s*$`)
	// perfFrame is an address and a symbol, with its file or after a tab. simpleperf's report_sample.py prints a tab between them.
	perfFrame = lazyregexp.New(`(?m)^[ \t]*[0-9a-f]{1,16}[ \t](\S.* )?\([/[].*\)|^\t *[0-9a-f]{3,16} \S`)
	// perfEvent is the line before a sample up to its event or time.
	perfEvent = lazyregexp.New(`(?m)^ *\S.* +(\d+ +|\d+\.\d{6,9}: +(\d+ +)?)[A-Za-z][\w./:=,-]*: *($| +[0-9a-f]{3,16} \S)`)
	// perfFlat is an address in its column and a symbol, of a sample without a stack. PID/TID before it is padded, and
	// the address of data has a column of its own.
	perfFlat = lazyregexp.New(`(?m)^([^\t\n]*(\S|\d/\d+ {1,6}) |[ 0-9a-f]{15}[0-9a-f])? [ 0-9a-f]{12}[0-9a-f]{4} \S`)
	// dtraceFrame is a frame with its module or its offset.
	dtraceFrame = lazyregexp.New("(?m)^[ \t]+\\S*(`|\\+0x[0-9a-f]+)\\S*|^[ \t]+0x[0-9a-f]+ : \\S")
	// stackcount is a text of single words, with counts that are indented more.
	stackcount = lazyregexp.New(`\A(?:(?:\S.*)?\n)*(?:    .*\S \[\d+\]\n)?(?:  \S+\n)+(?:    .*\S \[\d+\]\n)?    \d+\n(?:\n|\z)`)
)

// detect reports whether a text is of a kind.
func (k Kind) detect(head []byte) bool {
	switch k {
	case Perf:
		return (perfFrame().Match(head) || perfEvent().Match(head) || perfFlat().Match(head)) && readable(k, head, hasSymbol)
	case Bpftrace:
		return mapLine().Match(head) && readable(k, head, func(*sample.NamedStack) bool { return true })
	case DTrace:
		return (dtraceFrame().Match(head) || stackcount().Match(head)) && readable(k, head, func(s *sample.NamedStack) bool { return len(s.Frames) > 0 })
	case MacSample:
		return graphLine().Match(head)
	case Simpleperf:
		return simpleperfSample().Match(head)
	case Instruments:
		line, _, _ := bytes.Cut(bytes.TrimLeft(head, "\r\n"), []byte("\n"))
		return isInstrumentsHead(line)
	}
	return false
}

// readable reports whether at least one stack of a text is good, and few lines are bad. Of a first stack that is cut
// off at the end of head no lines are bad.
func readable(k Kind, head []byte, good func(*sample.NamedStack) bool) bool {
	stacks, bad := 0, 0
	for s, err := range Read(k, bytes.NewReader(head), "") {
		switch {
		case err != nil:
			bad++
		case good(s):
			stacks++
		}
	}
	const share = 4 // of lines that are bad, one for each so many stacks, and some text around
	return stacks > 0 && bad <= 2+stacks/share
}

// hasSymbol reports whether a frame has a symbol.
func hasSymbol(s *sample.NamedStack) bool {
	for _, f := range s.Frames {
		if f.Name != unknownName {
			return true
		}
	}
	return false
}

// UTF8 returns a reader of a text that is in UTF-16, as programs of Windows and some of macOS write it, or begins with
// a byte order mark. Other texts are unchanged.
func UTF8(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	head, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		_, _ = in.Discard(2)
		return &utf16Reader{in: in, order: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		_, _ = in.Discard(2)
		return &utf16Reader{in: in, order: binary.BigEndian}
	}
	return in
}

// utf16Reader converts UTF-16.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
	rest  []byte // not yet returned
	buf   []byte
	high  rune // the first half of a pair, 0 if there is none
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.rest) == 0 {
		var unit [2]byte
		u.buf = u.buf[:0]
		var err error
		for len(u.buf) < len(p) || len(u.buf) == 0 {
			if _, err = io.ReadFull(u.in, unit[:]); err != nil {
				break
			}
			u.add(rune(u.order.Uint16(unit[:])))
		}
		u.rest = u.buf
		if len(u.rest) == 0 && err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return 0, err
		}
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

func (u *utf16Reader) add(r rune) {
	if u.high != 0 {
		pair := utf16.DecodeRune(u.high, r)
		u.high = 0
		u.buf = utf8.AppendRune(u.buf, pair)
		return
	}
	if utf16.IsSurrogate(r) && r < 0xdc00 {
		u.high = r
		return
	}
	u.buf = utf8.AppendRune(u.buf, r)
}

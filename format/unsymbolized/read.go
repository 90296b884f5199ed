package unsymbolized

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/sample"
)

// maxLine bounds a line: the longest ones have a context, and a thousand calls take
// 20 kB.
const maxLine = 16 << 20

// Read reads a profile. Errors have the name and the line.
func Read(r io.Reader, name string) (*Profile, error) {
	d := decoder{lines: bufio.NewScanner(r)}
	d.lines.Buffer(nil, maxLine)
	p := new(Profile)
	for d.next() {
		if err := d.counts(p); err != nil {
			if d.lines.Err() != nil {
				break // err has the reason
			}
			return nil, fmt.Errorf("%s: line %d: %w", name, d.number, err)
		}
	}
	switch err := d.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: line %d has more than %d bytes", name, d.number+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return p, nil
}

type decoder struct {
	lines  *bufio.Scanner
	line   []byte // the current line
	number int    // its number, from 1
	peeked bool   // the scanner is at the line after it
}

// next moves to the next line that is not blank.
func (d *decoder) next() bool {
	for d.peeked || d.lines.Scan() {
		d.peeked = false
		d.number++
		if d.line = bytes.TrimSpace(d.lines.Bytes()); len(d.line) > 0 {
			return true
		}
	}
	return false
}

// peek returns the line after the current one.
func (d *decoder) peek() []byte {
	d.line = bytes.Clone(d.line)
	d.peeked = d.peeked || d.lines.Scan()
	if !d.peeked {
		return nil
	}
	return bytes.TrimSpace(d.lines.Bytes())
}

// counts reads the counts of one context, from the current line.
func (d *decoder) counts(p *Profile) error {
	var c sample.Counts
	hasContext := d.line[0] == '['
	if len(p.Counts) == 0 {
		p.HasContexts = hasContext
	} else if !p.HasContexts || !hasContext {
		return fmt.Errorf("%q: expected a context in brackets", clip(d.line))
	}
	if hasContext {
		if err := d.context(p, &c); err != nil {
			return err
		}
		if !d.next() {
			return errors.New("unexpected end of file: expected the number of ranges")
		}
	}
	err := d.list("ranges", "-", func(v pair) {
		c.Ranges = append(c.Ranges, sample.RangeCount{First: v.from, Last: v.to, Count: v.count})
	})
	if err != nil {
		return err
	}
	if !d.next() {
		return errors.New("unexpected end of file: expected the number of branches")
	}
	if len(c.Ranges) > 0 && !hasContext && d.countsAddresses() {
		return errAutoFDO
	}
	err = d.list("branches", "->", func(v pair) {
		c.Branches = append(c.Branches, sample.BranchCount{Branch: sample.Branch{From: v.from, To: v.to}, Count: v.count})
	})
	if err != nil {
		return err
	}
	p.Counts = append(p.Counts, c)
	return nil
}

// list reads a number and so many lines of pairs.
func (d *decoder) list(what, sep string, add func(pair)) error {
	n, err := strconv.ParseUint(string(d.line), 10, 64)
	if err != nil {
		return fmt.Errorf("%q: expected the number of %s", clip(d.line), what)
	}
	for i := range n {
		if !d.next() {
			return fmt.Errorf("unexpected end of file after %d of %d %s", i, n, what)
		}
		v, err := parsePair(d.line, sep)
		if err != nil {
			return err
		}
		add(v)
	}
	return nil
}

// errAutoFDO reports a file of another tool that begins in the same way.
var errAutoFDO = errors.New("it is the text of simpleperf inject for AutoFDO, which has offsets in the file in place of addresses: create_llvm_prof --profiler=text makes a profile of it")

// countsAddresses reports whether what follows the ranges are counts of single addresses, as in AutoFDO's text. The current
// line is their number; the scanner stays at the one after it.
func (d *decoder) countsAddresses() bool {
	rest := d.peek()
	if string(d.line) == "0" { // and then the number of branches
		_, err := strconv.ParseUint(string(rest), 10, 64)
		return err == nil
	}
	addr, count, ok := strings.Cut(string(rest), ":")
	_, err1 := strconv.ParseUint(addr, 16, 64)
	_, err2 := strconv.ParseUint(count, 10, 64)
	return ok && err1 == nil && err2 == nil
}

type pair struct{ from, to, count uint64 }

// parsePair parses two addresses separated by sep, and a count.
func parsePair(line []byte, sep string) (pair, error) {
	first, rest, ok := strings.Cut(string(line), sep)
	second, n, hasCount := strings.Cut(rest, ":")
	from, err1 := strconv.ParseUint(first, 16, 64)
	to, err2 := strconv.ParseUint(second, 16, 64)
	count, err3 := strconv.ParseUint(n, 10, 64)
	if !ok || !hasCount || errors.Join(err1, err2, err3) != nil {
		return pair{}, fmt.Errorf("%q is not of the form FROM%sTO:COUNT", clip(line), sep)
	}
	return pair{from, to, count}, nil
}

// context reads the line of a context. All contexts of a profile are addresses, or all are
// names.
func (d *decoder) context(p *Profile, c *sample.Counts) (err error) {
	if p.Names == nil {
		if c.Context, err = parseAddresses(d.line); err == nil {
			return nil
		}
	}
	names, err := parseNames(d.line)
	if err != nil {
		return err
	}
	if p.Names == nil {
		for i := range p.Counts {
			if len(p.Counts[i].Context) > 0 {
				return fmt.Errorf("%q: expected a context of addresses, as those before", clip(d.line))
			}
		}
		p.Names = make([][]sampleprof.Frame, len(p.Counts))
	}
	p.Names = append(p.Names, names)
	return nil
}

// inBrackets returns the text between brackets.
func inBrackets(line []byte) (inner string, ok bool) {
	inner, ok = strings.CutPrefix(string(line), "[")
	inner, closed := strings.CutSuffix(inner, "]")
	return inner, ok && closed
}

func errContext(line []byte) error {
	return fmt.Errorf("%q is not a context such as [0x1a @ 0x2b] or [main:4 @ add]", clip(line))
}

// parseAddresses reads "[0x1 @ 0x2]".
func parseAddresses(line []byte) (context []uint64, err error) {
	inner, ok := inBrackets(line)
	if !ok {
		return nil, errContext(line)
	}
	if inner == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(inner, " @ ") {
		digits, ok := strings.CutPrefix(part, "0x")
		addr, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil {
			return nil, errContext(line)
		}
		context = append(context, addr)
	}
	return context, nil
}

// parseNames parses "[main:4 @ twice:0.1 @ add]". No name begins with a digit, so an invalid address is not
// taken for a name.
func parseNames(line []byte) ([]sampleprof.Frame, error) {
	inner, ok := inBrackets(line)
	if ok && inner == "" {
		return nil, nil
	}
	frames, err := sampleprof.ParseFrames(inner)
	for i := range frames {
		ok = ok && (frames[i].Func[0] < '0' || frames[i].Func[0] > '9')
	}
	if !ok || err != nil {
		return nil, errContext(line)
	}
	return frames, nil
}

// clip shortens a line for a message.
func clip(line []byte) string {
	const most = 60
	if len(line) > most {
		return string(line[:most]) + "..."
	}
	return string(line)
}

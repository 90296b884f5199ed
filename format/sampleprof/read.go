package sampleprof

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/saturate"
)

// Bounds of what Read accepts.
const (
	maxLine  = 16 << 20 // bytes: contexts have a name for each caller
	maxDepth = 4096     // of functions that are nested, and of contexts
)

// File is a profile as read.
type File struct {
	Contexts    []Context // in the order of the file; without contexts each has one frame
	HasContexts bool
	Form        Form

	// What the binary formats contain in addition.
	MD5        bool // names are the lower halves of their MD5, in decimal
	FS         bool // discriminators distinguish copies of code, too (-enable-fs-discriminator)
	PreInlined bool // a pre-inliner chose what compilers should inline

	// What only WriteExtBinary uses.
	HashNames bool     // write the MD5 of names in their place
	Symbols   []string // functions of the program, sampled or not, by which compilers know which never ran
}

// Profile returns the functions of a profile without contexts.
func (f *File) Profile() Profile {
	p := make(Profile, len(f.Contexts))
	for _, c := range f.Contexts {
		p[c.Frames[0].Func] = c.Samples
	}
	return p
}

// Form is what a profile was read from.
type Form string

// The forms.
const (
	Text      Form = "text"
	Binary    Form = "binary"
	ExtBinary Form = "extbinary"
)

// HasProbes reports whether a profile is keyed by pseudo probes.
func (f *File) HasProbes() bool {
	return slices.ContainsFunc(f.Contexts, func(c Context) bool { return c.Samples.Probes })
}

// SetProfile replaces the contents of f by functions without contexts.
func (f *File) SetProfile(p Profile) {
	f.Contexts, f.HasContexts = make([]Context, 0, len(p)), false
	for name, s := range p {
		f.Contexts = append(f.Contexts, Context{[]Frame{{Func: name}}, s})
	}
}

// Write writes f as text. It changes the order of the contexts.
func (f *File) Write(w io.Writer) error {
	if f.HasContexts {
		return WriteContexts(w, f.Contexts)
	}
	return Write(w, f.Profile())
}

// Detect reports whether a file that begins with head is likely a profile that Read
// reads.
func Detect(head []byte) bool {
	if magic, _ := binary.Uvarint(head); magic == magicExtBinary || magic == magicBinary {
		return true
	}
	for line := range bytes.Lines(head) {
		if text := string(bytes.TrimRight(line, "\r\n")); text != "" && text[0] != '#' {
			p := newParser()
			return p.line(text) == nil
		}
	}
	return false
}

// Read reads a profile in text, or in one of LLVM's binary formats. Repeated functions and places are summed.
// Errors give the line, or the offset.
func Read(r io.Reader) (*File, error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(len(binary.AppendUvarint(nil, magicBinary)))
	switch magic, _ := binary.Uvarint(head); {
	case magic == magicExtBinary || magic == magicBinary:
		data, err := io.ReadAll(io.LimitReader(in, maxBinary+1))
		if err != nil {
			return nil, err
		}
		if len(data) > maxBinary {
			return nil, errors.New("larger than 2 GB")
		}
		return readBinary(data)
	case bytes.IndexByte(head, 0) >= 0 || magic>>8 == magicBinary>>8:
		return nil, errors.New("not a sample profile: neither text, nor LLVM's binary or extbinary")
	}
	return readText(in)
}

func readText(in io.Reader) (*File, error) {
	p := newParser()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := p.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return nil, errors.New("empty file")
	}
	return p.file, nil
}

// parser reads a line at a time.
type parser struct {
	file  *File
	known map[string]*Samples // by the text before the total
	stack []*Samples          // the current function, and the ones nested in it
}

func newParser() parser {
	return parser{file: &File{Form: Text}, known: map[string]*Samples{}}
}

func (p *parser) line(s string) error {
	rest := strings.TrimLeft(s, " ")
	depth := len(s) - len(rest)
	switch {
	case rest == "" || s[0] == '#':
		return nil
	case strings.ContainsFunc(s, control):
		return errors.New("contains control characters: not a text profile")
	case depth == 0:
		return p.function(s)
	case depth > len(p.stack):
		return fmt.Errorf("indented by %d blanks, but no function precedes it", depth)
	}
	p.stack = p.stack[:depth]
	if rest[0] == '!' {
		return p.metadata(rest)
	}
	return p.place(rest)
}

// control reports whether a character is not allowed in a name, because Read could not parse the written text.
func control(r rune) bool { return r < ' ' || r == 0x7f }

// function reads the line that a function begins with: name:total:head.
func (p *parser) function(s string) error {
	left, head, ok := cutNumber(s)
	name, total, ok2 := cutNumber(left)
	if !ok || !ok2 || name == "" || name[0] == '!' {
		return errors.New("expected a function: name:total:head")
	}
	known := p.known[name]
	if known == nil {
		c, err := p.context(name)
		if err != nil {
			return err
		}
		known = c.Samples
		p.known[name] = known
		p.file.Contexts = append(p.file.Contexts, c)
	}
	known.AddTotal(total)
	known.Head = saturate.Add(known.Head, head)
	p.stack = append(p.stack[:0], known)
	return nil
}

// context parses the text before the total.
func (p *parser) context(name string) (Context, error) {
	c := Context{Samples: &Samples{}}
	has := name[0] == '['
	if len(p.file.Contexts) > 0 && has != p.file.HasContexts {
		return c, errors.New("some functions have contexts, others do not")
	}
	p.file.HasContexts = has
	if !has {
		c.Frames = []Frame{{Func: name}}
		return c, nil
	}
	inner, closed := strings.CutSuffix(name[1:], "]")
	if !closed {
		return c, errContext
	}
	var err error
	c.Frames, err = ParseFrames(inner)
	return c, err
}

var errContext = errors.New("expected a context: [caller:location @ function]")

// ParseFrames reads a context as Name writes it, without brackets.
func ParseFrames(text string) ([]Frame, error) {
	parts := strings.Split(text, " @ ")
	if len(parts) > maxDepth {
		return nil, fmt.Errorf("a context of more than %d functions", maxDepth)
	}
	frames := make([]Frame, len(parts))
	for i, s := range parts {
		f, ok := Frame{Func: s}, true
		if i < len(parts)-1 {
			colon := strings.LastIndexByte(s, ':')
			if f.Func = s[:max(colon, 0)]; colon > 0 {
				f.Call, ok = parsePlace(s[colon+1:])
			}
		}
		if !ok || f.Func == "" {
			return nil, errContext
		}
		frames[i] = f
	}
	return frames, nil
}

// place parses the counts of a place in the innermost function of the stack, or the beginning of a nested
// function.
func (p *parser) place(s string) error {
	in := p.stack[len(p.stack)-1]
	left, rest, _ := strings.Cut(s, ": ")
	at, ok := parsePlace(left)
	if !ok || rest == "" {
		return errors.New("expected a location and its count: location: count")
	}
	if rest[0] >= '0' && rest[0] <= '9' {
		return in.count(at, rest)
	}
	name, total, ok := cutNumber(rest)
	switch {
	case !ok || name == "" || strings.HasPrefix(name, "<vtables>"):
		return errors.New("expected a count, or a nested function: name:total")
	case len(p.stack) == maxDepth:
		return fmt.Errorf("more than %d functions are nested", maxDepth)
	}
	nested := in.Inline(at, name)
	nested.AddTotal(total)
	p.stack = append(p.stack, nested)
	return nil
}

// count parses the count of a place, and of calls from there.
func (s *Samples) count(at Place, text string) error {
	number, calls, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return fmt.Errorf("expected a count, not %.60q", number)
	}
	l := s.At(at)
	l.Count = saturate.Add(l.Count, n)
	// Names can contain blanks: a name ends at the first number after a colon.
	words := strings.Fields(calls)
	for from, i := 0, 0; i < len(words); i++ {
		if _, _, ok := cutNumber(words[i]); !ok {
			if i == len(words)-1 {
				return fmt.Errorf("expected a call and its count, not %.60q", words[i])
			}
			continue
		}
		name, n, _ := cutNumber(strings.Join(words[from:i+1], " "))
		if name == "" {
			return errors.New("a call of a function without a name")
		}
		l.Call(name, n)
		from = i + 1
	}
	return nil
}

// metadata reads the metadata of the innermost function of the stack.
func (p *parser) metadata(s string) error {
	in := p.stack[len(p.stack)-1]
	key, value, _ := strings.Cut(s, ": ")
	n, err := strconv.ParseUint(value, 10, 64)
	switch {
	case err == nil && key == "!CFGChecksum":
		in.Probes, in.Checksum = true, n
	case err == nil && key == "!Attributes" && n <= 0xff:
		in.Attributes = Attributes(n)
		p.file.PreInlined = p.file.PreInlined || in.Attributes&ShouldBeInlined != 0
	default:
		return fmt.Errorf("unknown metadata %.60q: only !CFGChecksum: number and !Attributes: number are supported", s)
	}
	return nil
}

// cutNumber cuts the number after the last colon off a text.
func cutNumber(s string) (left string, n uint64, ok bool) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return s, 0, false
	}
	n, err := strconv.ParseUint(s[colon+1:], 10, 64)
	return s[:colon], n, err == nil
}

// parsePlace reads offset[.discriminator].
func parsePlace(s string) (at Place, ok bool) {
	offset, discriminator, has := strings.Cut(s, ".")
	n, err := strconv.ParseUint(offset, 10, 16)
	at.Offset = uint32(n)
	if err == nil && has {
		n, err = strconv.ParseUint(discriminator, 10, 32)
		at.Discriminator = uint32(n)
	}
	return at, err == nil
}

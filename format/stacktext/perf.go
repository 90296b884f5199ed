package stacktext

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/sample"
)

// perf parses text of perf script with symbols. What follows a stack in a sample is skipped: source lines and code
// (-F srcline, srccode), registers, bytes of instructions, branches.
type perf struct {
	sink

	in     *lines
	stack  sample.NamedStack
	frames []sample.NamedFrame // of stack, innermost first
	begun  bool                // a sample has begun
	bare   bool                // its frames have no addresses (-F sym)
	flat   bool                // each line is a sample: perfscript.FlatOnly
	single bool                // its frame is in its header
	deep   bool                // it has too many frames
	guess  *sample.Damage      // it began with a line that is a header only if frames follow
	text   interned
	known  map[string][]sample.NamedFrame // by what follows the address
}

// readPerf yields the samples of text of perf script, in its order. A sample without frames has no stack.
func readPerf(in *lines) Stacks {
	return func(yield func(*sample.NamedStack, error) bool) {
		p := perf{sink: sink{yield: yield}, in: in, known: map[string][]sample.NamedFrame{}, flat: perfscript.FlatOnly(in.ahead())}
		in.feed(&p.sink, p.line, p.finish)
	}
}

var recordMark = []byte("PERF_RECORD_")

func (p *perf) line(line []byte) {
	if p.flat {
		line = perfscript.WithoutData(line)
	}
	margin := indent(line)
	rest := line[margin:]
	switch {
	case p.in.cut:
		p.error(p.in.damage(longLine))
	case len(rest) == 0:
		p.finish()
	case line[0] == '#' || bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(rest, []byte("```")):
		// a comment, or a fence of a text that was copied
	case bytes.Contains(line, recordMark) && isRecord(line):
		p.finish()
		p.lost(line)
	case p.flat && p.frame(rest):
		p.finish()
	case line[0] == '\t' && p.begun && p.frame(rest):
	case p.header(line, margin):
	case p.frame(rest):
	case p.begun && isDetail(rest, margin):
	default:
		p.error(p.in.damage(badLine))
	}
}

// isRecord reports whether a line is an event of memory or tasks, and not a frame of a function of that name.
func isRecord(line []byte) bool {
	h, ok := perfscript.ParseHeader(line[:bytes.Index(line, recordMark)])
	return ok || h.Command == nil
}

// lost reports the number in "PERF_RECORD_LOST lost 12" and "PERF_RECORD_LOST_SAMPLES 12".
func (p *perf) lost(line []byte) {
	if event := line[bytes.Index(line, recordMark)+len(recordMark):]; bytes.HasPrefix(event, []byte("LOST")) {
		if n, ok := number(event[bytes.LastIndexByte(event, ' ')+1:]); ok && n > 0 {
			d := p.in.damage(dropped)
			d.Count = n
			p.error(d)
		}
	}
}

// isDetail reports whether a line in a sample has what is not needed: source lines and code, registers, bytes of
// instructions, branches.
func isDetail(rest []byte, margin int) bool {
	if margin > 0 || rest[0] == '|' {
		return true
	}
	return bytes.HasPrefix(rest, []byte("ABI:")) || bytes.HasPrefix(rest, []byte("0x")) || bytes.HasPrefix(rest, []byte("insn:"))
}

// header parses the line before a sample, and the frame that may be in it.
func (p *perf) header(line []byte, margin int) bool {
	h, ok := perfscript.ParseHeader(line)
	if !ok {
		if h, ok = p.shortHeader(line, margin); !ok {
			return false
		}
	}
	p.finish()
	p.begun = true
	if h.Event == nil && h.TID == sample.UnknownPID {
		p.guess = p.in.damage(badLine)
	}
	s := &p.stack
	s.Command, s.PID, s.TID, s.Event = p.text.of(h.Command), h.PID, h.TID, p.text.of(h.Event)
	s.Value, s.Unit, s.Moments = 1, sample.Samples, 1
	if h.Period > 0 {
		s.Value, s.Unit = h.Period, UnitOf(s.Event)
	}
	if rest := h.Rest; len(rest) > 0 {
		if digits, n := hexLength(rest); n > 0 && len(digits) > 3 {
			p.single = p.frame(withoutTarget(rest, n))
		}
	}
	return true
}

// withoutTarget removes the address of data (-F addr) that may precede that of the code in a line.
func withoutTarget(s []byte, n int) []byte {
	next := bytes.TrimLeft(s[n:], " ")
	next = bytes.TrimLeft(bytes.TrimPrefix(next, []byte("=>")), " ")
	const least = 6
	if digits, m := hexLength(next); m > 0 && len(digits) >= least && m < len(next) {
		return next
	}
	return s
}

// shortHeader parses a header without ids and time: "prog name cycles:", "cycles:" or, at the beginning of a line,
// "prog name" alone.
func (p *perf) shortHeader(line []byte, margin int) (perfscript.Header, bool) {
	h := perfscript.Header{PID: sample.UnknownPID, TID: sample.UnknownPID}
	if p.begun && len(p.frames) > 0 && margin > 0 || line[0] == '\t' {
		return h, false
	}
	rest := line[margin:]
	last := rest[bytes.LastIndexByte(rest, ' ')+1:]
	if len(last) > 1 && last[len(last)-1] == ':' {
		h.Event = last[:len(last)-1]
		words := bytes.TrimRight(rest[:len(rest)-len(last)], " ")
		if i := bytes.LastIndexByte(words, ' '); i >= 0 {
			if n, ok := number(words[i+1:]); ok {
				h.Period, words = n, bytes.TrimRight(words[:i], " ")
			}
		}
		h.Command = words
		return h, true
	}
	const longest = 16 // bytes of the name of a thread in Linux
	if _, n := hexLength(rest); margin > 0 || p.begun || n > 0 && n < len(rest) || len(rest) > longest {
		return h, false
	}
	h.Command = rest
	return h, true
}

// UnitOf returns the unit of the periods of an event: times where it is a clock.
func UnitOf(event string) string {
	event = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(event, "cpu_core/"), "cpu_atom/"), "/")
	name, _, _ := strings.Cut(event, ":")
	if i := strings.IndexByte(name, '/'); i > 0 {
		name = name[:i]
	}
	switch name {
	case "cpu-clock", "task-clock":
		return sample.Nanoseconds
	case "", "dummy":
		return sample.Samples
	}
	return name
}

// frame parses a frame: its address, its symbol, and its file in parentheses.
func (p *perf) frame(rest []byte) bool {
	digits, n := hexLength(rest)
	symbol := bytes.TrimLeft(rest[n:], " \t")
	switch {
	case n > 0 && len(symbol) > 0:
		if isContext(digits) {
			return true
		}
		p.bare = p.bare && len(p.frames) == 0
	case n > 0: // an address alone
		if !p.begun || isContext(digits) {
			return p.begun
		}
		symbol = []byte(unknownName)
	case p.begun && (len(p.frames) == 0 || p.bare) && !isDetail(rest, 0):
		p.bare, symbol = true, rest
	default:
		return false
	}
	if !p.begun {
		p.begin()
	}
	if p.single { // and this is a stack: what is in the header is the address of data (-F addr)
		p.frames, p.single = p.frames[:0], false
	}
	first := len(p.frames)
	p.frames = append(p.frames, p.parse(symbol)...)
	if isKernelAddress(digits) {
		for i := first; i < len(p.frames); i++ {
			if f := &p.frames[i]; f.Kind == sample.UserFrame && f.Name == unknownName || !bytes.HasSuffix(symbol, []byte(")")) {
				f.Kind = sample.KernelFrame
			}
		}
	}
	if len(p.frames) > maxFrames {
		p.frames = p.frames[:maxFrames]
		if !p.deep {
			p.deep = true
			p.error(p.in.damage(deepStack))
		}
	}
	return true
}

// begin begins a sample without a header.
func (p *perf) begin() {
	p.begun = true
	p.stack = sample.NamedStack{PID: sample.UnknownPID, TID: sample.UnknownPID, Value: 1, Unit: sample.Samples, Moments: 1}
}

// parse returns the functions of a symbol with its file, innermost first. Compilers of Java print inlined functions
// after the one that they were inlined into: "outer->inner".
func (p *perf) parse(symbol []byte) []sample.NamedFrame {
	if frames, ok := p.known[string(symbol)]; ok {
		return frames
	}
	text := symbol
	kind := sample.UserFrame
	if s, ok := bytes.CutSuffix(text, []byte(" (inlined)")); ok {
		text, kind = s, sample.InlinedFrame
	}
	name, file, ok := cutModule(text)
	module := string(file)
	if ok && kind == sample.UserFrame {
		kind = moduleKind(withoutFileOffset(module))
	}
	name = cutOffset(name)
	names := []string{string(name)}
	switch {
	case (len(name) == 0 || string(name) == unknownName) && ok && module != unknownName:
		names[0] = moduleName(withoutFileOffset(module))
	case kind == sample.JITFrame:
		names = strings.Split(string(name), "->")
	}
	frames := make([]sample.NamedFrame, len(names))
	for i, n := range names {
		if n == "" {
			n = unknownName
		}
		frames[i] = sample.NamedFrame{Name: n, Kind: kind}
		if i > 0 {
			frames[i].Kind = sample.InlinedFrame
		}
	}
	slices.Reverse(frames)
	const most = 1 << 16
	if len(p.known) >= most {
		clear(p.known)
	}
	p.known[string(symbol)] = frames
	return frames
}

// withoutFileOffset removes the offset in the file (-F dsoff) from its name.
func withoutFileOffset(module string) string { return string(cutOffset([]byte(module))) }

// finish passes on the current sample.
func (p *perf) finish() {
	switch {
	case !p.begun || p.done:
	case p.guess != nil && len(p.frames) == 0:
		p.error(p.guess)
	default:
		slices.Reverse(p.frames)
		p.stack.Frames = p.frames
		p.sink.stack(&p.stack)
	}
	p.frames, p.begun, p.bare, p.single, p.deep, p.guess = p.frames[:0], false, false, false, false, nil
}

package stacktext

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/sample"
)

// The text of simpleperf report-sample has a block for each sample, with the frames innermost first. Those of the
// callers, with --show-callchain, are indented more:
//
//	sample:
//	  event_type: cpu-cycles
//	  event_count: 4500
//	  thread_id: 31850
//	  thread_name: app
//	  vaddr_in_file: 1a0b4
//	  file: /data/local/tmp/app
//	  symbol: hash(int)
//	  execution_type: native
//	  callchain:
//	    vaddr_in_file: 1a0f8
//	    file: /data/local/tmp/app
//	    symbol: main
//
// Versions until 2017 call the file dso, and print no event. Blocks of other names have no samples.
var simpleperfSample = lazyregexp.New(`(?m)^sample:\r?\n  [a-z_]+: `)

const lostSamples = "simpleperf record lost a sample, as it was too slow (see its -m)"

// fileAddress is what stands in place of a symbol that is not known: *libc.so[+1a0b4].
var fileAddress = lazyregexp.New(`^\*?(\S.*)\[\+[0-9a-f]+\]$`)

// simpleperf parses such text.
type simpleperf struct {
	sink

	in     *lines
	stack  sample.NamedStack
	frames []sample.NamedFrame // innermost first
	inside bool                // a sample has begun
	bad    bool                // its value cannot be read
	deep   bool
	file   string // of the next frame
	text   interned
}

func readSimpleperf(in *lines) Stacks {
	return func(yield func(*sample.NamedStack, error) bool) {
		p := simpleperf{sink: sink{yield: yield}, in: in}
		in.feed(&p.sink, p.line, p.finish)
	}
}

func (p *simpleperf) line(line []byte) {
	margin := indent(line)
	rest := line[margin:]
	key, value, ok := bytes.Cut(rest, []byte(":"))
	switch {
	case p.in.cut:
		p.error(p.in.damage(longLine))
	case len(rest) == 0:
	case !ok:
		p.error(p.in.damage(badLine))
	case margin == 0:
		p.finish()
		if p.inside = string(key) == "sample"; p.inside {
			p.stack = sample.NamedStack{PID: sample.UnknownPID, TID: sample.UnknownPID, Value: 1, Unit: sample.Samples, Moments: 1}
		}
	case p.inside:
		p.field(string(key), bytes.TrimSpace(value))
	case string(key) == "lost_count":
		if n, ok := number(bytes.TrimSpace(value)); ok && n > 0 {
			d := p.in.damage(lostSamples)
			d.Count = n
			p.error(d)
		}
	}
}

// field parses a line of a sample.
func (p *simpleperf) field(key string, value []byte) {
	s := &p.stack
	switch key {
	case "event_type":
		s.Event = p.text.of(value)
		if s.Unit != sample.Samples {
			s.Unit = UnitOf(s.Event)
		}
	case "event_count":
		n, ok := number(value)
		if !ok {
			p.error(p.in.damage(badValue))
			p.bad = true
		}
		if n > 0 {
			s.Value, s.Unit = n, UnitOf(s.Event)
		}
	case "thread_id":
		if n, ok := number(value); ok && n>>31 == 0 {
			s.TID = int32(n)
		}
	case "thread_name":
		s.Command = p.text.of(value)
	case "file", "dso":
		p.file = p.text.of(value)
	case "symbol":
		p.frame(value)
	case "execution_type":
		if n := len(p.frames); n > 0 && bytes.HasPrefix(value, []byte("jit")) {
			p.frames[n-1].Kind = sample.JITFrame
		}
	}
}

func (p *simpleperf) frame(symbol []byte) {
	if len(p.frames) == maxFrames {
		if !p.deep {
			p.error(p.in.damage(deepStack))
		}
		p.deep = true
		return
	}
	f := sample.NamedFrame{Name: p.text.of(symbol)}
	if strings.HasPrefix(p.file, "[kernel.") || strings.HasSuffix(p.file, ".ko") {
		f.Kind = sample.KernelFrame
	}
	switch {
	case fileAddress().Match(symbol) || f.Name == "unknown" || f.Name == "":
		if f.Name = unknownName; p.file != "" && p.file != "unknown" {
			f.Name = moduleName(p.file)
		}
	default:
		f.Name = strings.TrimPrefix(f.Name, "[linker]") // that the dynamic linker's functions have before them
	}
	p.frames, p.file = append(p.frames, f), ""
}

// finish passes a sample on.
func (p *simpleperf) finish() {
	if p.inside && !p.bad {
		slices.Reverse(p.frames)
		p.stack.Frames = p.frames
		p.sink.stack(&p.stack)
	}
	p.frames, p.inside, p.bad, p.deep, p.file = p.frames[:0], false, false, false, ""
}

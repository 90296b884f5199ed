package stacktext

import (
	"bytes"
	"slices"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/sample"
)

// dtrace parses aggregations of DTrace by stack(), ustack() or jstack(), and the output of stackcount:
//
//	libc.so.1`read+0x15
//	app`main+0x42
//	 12
//
// SystemTap prints addresses, sizes and modules, too:
//
//	0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]
//
// A line before the stack that is less indented names what the stack belongs to (execname), as does one after it.
type dtrace struct {
	sink

	in      *lines
	frames  []sample.NamedFrame // innermost first
	margin  int                 // of the first line of the stack
	command string
	deep    bool
	text    interned
}

var (
	// probeLine is what DTrace prints when a probe fires: the processor, the number of the probe, its name.
	probeLine = lazyregexp.New(`^\s*(CPU\s+ID\s+FUNCTION:NAME|\d+\s+\d+\s+\S*:\S*)$`)
	// keyAndCount is a key that follows a stack, and the count.
	keyAndCount = lazyregexp.New(`^(\S.*\S|\S) {2,}(\d+)$`)
	message     = lazyregexp.New(`^(dtrace: |\^C|Tracing |Detaching|Ending)`)
	// stapFrame is a frame of SystemTap, with its module, which a plus may precede.
	stapFrame = lazyregexp.New(`^(0x[0-9a-f]+) : (\S.*?)(?:/0x[0-9a-f]+)?(?: \[([^\]]*)\])?$`)
	// stackcountKey is the process that stackcount -P prints after a stack, and before it in old versions.
	stackcountKey = lazyregexp.New(`^\S.* \[\d+\]$`)
)

func readDTrace(in *lines) Stacks {
	return func(yield func(*sample.NamedStack, error) bool) {
		d := dtrace{sink: sink{yield: yield}, in: in}
		for !d.done {
			line, ok := in.next()
			if !ok {
				break
			}
			d.line(line)
		}
		if len(d.frames) > 0 {
			d.error(in.damage("a stack has no count and was skipped"))
		}
		if in.err != nil {
			d.error(in.err)
		}
	}
}

func (d *dtrace) line(line []byte) {
	margin := indent(line)
	rest := line[margin:]
	switch {
	case d.in.cut:
		d.error(d.in.damage(longLine))
	case len(rest) == 0:
		// DTrace prints one before each stack, and in a stack between that of the kernel and that of the program.
	case probeLine().Match(line) || message().Match(line):
	case len(d.frames) == 0 && bytes.HasPrefix(rest, []byte("[")) && !bytes.Contains(rest, []byte("`")):
	default:
		if n, ok := number(rest); ok {
			d.finish(n)
			return
		}
		if m := keyAndCount().FindSubmatch(rest); m != nil && len(d.frames) > 0 && !bytes.ContainsAny(m[1], "`") {
			if n, ok := number(m[2]); ok {
				d.command = d.text.of(m[1])
				d.finish(n)
				return
			}
		}
		if margin == 0 {
			d.error(d.in.damage(badLine))
			return
		}
		d.frame(rest, margin)
	}
}

func (d *dtrace) frame(rest []byte, margin int) {
	if len(d.frames) > 0 && string(rest) == "--" { // of stackcount -d, between kernel and program
		return
	}
	if len(d.frames) == 1 && margin > d.margin && isKey(d.frames[0].Name) {
		d.command, d.frames = d.frames[0].Name, d.frames[:0]
	}
	if (len(d.frames) == 0 || margin > d.margin) && stackcountKey().Match(rest) {
		d.command = d.text.of(rest)
		return
	}
	if len(d.frames) == 0 {
		d.margin = margin
	}
	if len(d.frames) >= maxFrames {
		if !d.deep {
			d.deep = true
			d.error(d.in.damage(deepStack))
		}
		return
	}
	f := sample.NamedFrame{}
	name := rest
	if m := stapFrame().FindSubmatch(rest); m != nil {
		if digits, _ := hexLength(m[1]); isKernelAddress(digits) || string(m[3]) == "kernel" {
			f.Kind = sample.KernelFrame
		}
		rest, name = nil, m[2]
	}
	if module, symbol, ok := bytes.Cut(rest, []byte("`")); ok {
		switch digits, n := hexLength(symbol); {
		case n > 0 && n == len(symbol) && bytes.HasPrefix(symbol, []byte("0x")):
			name = []byte(moduleName(string(module)))
			if isKernelAddress(digits) {
				f.Kind = sample.KernelFrame
			}
		case len(symbol) == 0:
			name = []byte(moduleName(string(module)))
		default:
			name = symbol
		}
		if kernelModule().Match(module) {
			f.Kind = sample.KernelFrame
		}
	} else if digits, n := hexLength(rest); n > 0 && n == len(rest) && bytes.HasPrefix(rest, []byte("0x")) {
		name = []byte(unknownName)
		if isKernelAddress(digits) {
			f.Kind = sample.KernelFrame
		}
	}
	f.Name = d.text.of(cutOffset(name))
	d.frames = append(d.frames, f)
}

// kernelModule are the modules of the kernels with DTrace that the programs of users do not have.
var kernelModule = lazyregexp.New(`^(unix|genunix|kernel|mach_kernel|vmlinux|zfs|ufs|tmpfs|lofs|sockfs|ip|dtrace|fbt|specfs|devfs|procfs|doorfs|ntoskrnl|nt|.*\.ko)$`)

// isKey reports whether a line is the key of an aggregation, and not a frame.
func isKey(name string) bool {
	return !bytes.ContainsAny([]byte(name), "`:(+") || len(name) == 0
}

func (d *dtrace) finish(n uint64) {
	if len(d.frames) == 0 && d.command == "" {
		d.error(d.in.damage("a count has no stack and was skipped"))
		return
	}
	slices.Reverse(d.frames)
	d.stack(&sample.NamedStack{
		Frames: d.frames, Command: d.command, PID: sample.UnknownPID, TID: sample.UnknownPID,
		Value: n, Unit: sample.Samples, Moments: n,
	})
	d.frames, d.command, d.deep = d.frames[:0], "", false
}

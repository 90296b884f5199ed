package stacktext

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/sample"
)

// bpftrace parses maps of bpftrace whose keys have stacks:
//
//	@cpu[bash, 71,
//	    inner+4
//	    outer+31
//	]: 12
//
// Keys that are stacks have a line for each frame, innermost first; other keys are the name of what the stack belongs
// to. Of two stacks, that of the kernel is inside of the other.
type bpftrace struct {
	sink

	in     *lines
	open   bool // in a key
	keys   []string
	stacks [][]sample.NamedFrame // innermost first
	text   interned
}

var (
	mapStart = lazyregexp.New(`^@(\w*)\[(.*)$`)
	mapEnd   = lazyregexp.New(`^(.*)\]: (\S.*)$`)
	// kernelEntry are outermost functions of stacks of the kernel.
	kernelEntry = lazyregexp.New(`^(entry_SYSCALL|entry_INT80|entry_SYSENTER|do_syscall_64|ret_from_fork|asm_|el[01]t?_|el0_|el0t_|secondary_startup|x86_64_start|cpu_startup_entry|start_secondary|start_kernel|__primary_switched|system_call|ret_from_exception|handle_syscall|kthread$|common_startup_64)`)
)

func readBpftrace(in *lines) Stacks {
	return func(yield func(*sample.NamedStack, error) bool) {
		b := bpftrace{sink: sink{yield: yield}, in: in}
		for !b.done {
			line, ok := in.next()
			if !ok {
				break
			}
			b.line(line)
		}
		if b.open {
			b.error(in.damage("a key has no end: its stack was skipped"))
		}
		if in.err != nil {
			b.error(in.err)
		}
	}
}

func (b *bpftrace) line(line []byte) {
	if b.in.cut {
		b.error(b.in.damage(longLine))
		return
	}
	if m := mapStart().FindSubmatch(line); m != nil {
		if b.open {
			b.error(b.in.damage("a key has no end: its stack was skipped"))
		}
		b.open, b.keys, b.stacks = true, b.keys[:0], b.stacks[:0]
		if len(m[1]) > 0 {
			b.keys = append(b.keys, "@"+b.text.of(m[1]))
		}
		b.part(m[2])
		return
	}
	switch {
	case b.open:
		b.part(line)
	case len(line) == 0 || bytes.HasPrefix(line, []byte("Attach")) || bytes.HasPrefix(line, []byte("^C")) || bytes.HasPrefix(line, []byte("@")) ||
		bytes.HasPrefix(line, []byte("WARNING")) || bytes.HasPrefix(line, []byte("Lost ")):
		// a message of bpftrace, or a map without a key
	default:
		b.error(b.in.damage(badLine))
	}
}

// part parses a line of a key, or the end of one.
func (b *bpftrace) part(line []byte) {
	value, ends := []byte(nil), false
	if m := mapEnd().FindSubmatch(line); m != nil {
		line, value, ends = m[1], m[2], true
	}
	switch {
	case indent(line) > 0 && !ends && len(bytes.Trim(line, " \t,")) > 0:
		b.frame(bytes.Trim(line, " \t,"))
	default:
		for key := range bytes.SplitSeq(line, []byte(",")) {
			if key = bytes.TrimSpace(key); len(key) > 0 {
				b.keys = append(b.keys, b.text.of(key))
			}
		}
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte(",")) || len(b.stacks) == 0 {
			b.stacks = append(b.stacks, nil)
		}
	}
	if ends {
		b.finish(value)
	}
}

func (b *bpftrace) frame(text []byte) {
	if len(b.stacks) == 0 {
		b.stacks = append(b.stacks, nil)
	}
	s := &b.stacks[len(b.stacks)-1]
	if len(*s) >= maxFrames {
		if len(*s) == maxFrames {
			b.error(b.in.damage(deepStack))
		}
		return
	}
	if _, n := hexLength(text); n > 0 && n < len(text) { // ustack(perf)
		text = bytes.TrimLeft(text[n:], " \t")
	}
	kind := sample.UserFrame
	name, file, ok := cutModule(text)
	if ok {
		kind = moduleKind(string(file))
	}
	if digits, n := hexLength(name); n == len(name) { // an address without a symbol
		if isKernelAddress(digits) {
			kind = sample.KernelFrame
		}
		name = []byte(unknownName)
		if ok {
			name = []byte(moduleName(string(file)))
		}
	}
	*s = append(*s, sample.NamedFrame{Name: b.text.of(cutOffset(name)), Kind: kind})
}

// finish passes on a stack.
func (b *bpftrace) finish(value []byte) {
	b.open = false
	n, ok := number(value)
	if !ok {
		b.error(b.in.damage(badValue))
		return
	}
	b.stacks = slices.DeleteFunc(b.stacks, func(s []sample.NamedFrame) bool { return len(s) == 0 })
	isKernel := func(s []sample.NamedFrame) bool {
		return slices.ContainsFunc(s, func(f sample.NamedFrame) bool {
			return kernelEntry().MatchString(f.Name) || f.Kind == sample.KernelFrame
		})
	}
	if len(b.stacks) > 1 && !isKernel(b.stacks[0]) && isKernel(b.stacks[1]) {
		b.stacks[0], b.stacks[1] = b.stacks[1], b.stacks[0]
	}
	var frames []sample.NamedFrame
	for i, s := range b.stacks {
		if i == 0 && isKernel(s) {
			for k := range s {
				s[k].Kind = sample.KernelFrame
			}
		}
		frames = append(frames, s...)
	}
	slices.Reverse(frames)
	b.stack(&sample.NamedStack{
		Frames: frames, Command: strings.Join(b.keys, " "), PID: sample.UnknownPID, TID: sample.UnknownPID,
		Value: n, Unit: sample.Samples, Moments: n,
	})
}

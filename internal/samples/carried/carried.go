// Package carried names the functions of recordings that have the symbols of the files that ran: those of simpleperf,
// which records on a phone, and is reported elsewhere. The files are not needed then.
package carried

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/perfdata"
	"github.com/cairnprof/cairn/format/simpleperf"
	"github.com/cairnprof/cairn/format/stacktext"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/sample"
)

// Detect reports whether a file that begins with head is a recording with symbols.
func Detect(head []byte) bool {
	return perfdata.HasFeature(head, simpleperf.FeatureFile) || perfdata.HasFeature(head, simpleperf.FeatureFile2)
}

// Recording is an open recording.
type Recording struct {
	in    *samplefile.File
	files map[string]*simpleperf.SymbolFile

	spaces   sample.Spaces
	commands map[int32]string // of threads
	frames   []sample.NamedFrame
}

// Open opens a recording that Detect knows. The caller closes it.
func Open(path string) (*Recording, error) {
	in, err := samplefile.Open(path, nil)
	if err != nil {
		return nil, err
	}
	r := &Recording{in: in, files: map[string]*simpleperf.SymbolFile{}, commands: map[int32]string{}}
	if err := r.readFiles(); err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", in.Info().File, err)
	}
	return r, nil
}

func (r *Recording) readFiles() error {
	from, ok := r.in.Source.(interface {
		Feature(feature int) ([]byte, error)
	})
	if !ok {
		return errors.New("no recording of simpleperf")
	}
	for _, feature := range []int{simpleperf.FeatureFile, simpleperf.FeatureFile2} {
		data, err := from.Feature(feature)
		if err != nil {
			return err
		}
		files, err := simpleperf.ReadSymbols(feature, data)
		if err != nil {
			return err
		}
		for i := range files {
			r.files[files[i].Path] = &files[i]
		}
	}
	return nil
}

// Notes describe what is missing, after the stacks were read.
func (r *Recording) Notes() []string { return r.in.Notes() }

// Empty returns why there are no stacks, nil if there are some, after these were read.
func (r *Recording) Empty() error { return samplefile.Empty(r.in.Info(), r.in.Stats()) }

// Close closes the recording.
func (r *Recording) Close() error { return r.in.Close() }

// Stacks yields the stacks of the samples, each valid until the next.
func (r *Recording) Stacks(ctx context.Context) iter.Seq2[*sample.NamedStack, error] {
	return func(yield func(*sample.NamedStack, error) bool) {
		wanted := true
		err := r.each(ctx, func(s *sample.NamedStack) bool {
			wanted = yield(s, nil)
			return wanted
		})
		if err != nil && wanted {
			yield(nil, err)
		}
	}
}

// each calls next with the stack of each sample until it returns false. The recording may be mapped.
func (r *Recording) each(ctx context.Context, next func(*sample.NamedStack) bool) (err error) {
	info := r.in.Info()
	defer logfile.Guard(info.File, &err)()
	for b, err := range r.in.Batches(ctx) {
		if err != nil {
			return err
		}
		r.apply(b.Events)
		for i := range b.Samples {
			if !next(r.stack(&b.Samples[i], info)) {
				return nil
			}
		}
		b.Release()
	}
	return nil
}

func (r *Recording) apply(events []sample.Event) {
	r.spaces.Apply(events)
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sample.Comm, sample.Exec:
			r.commands[e.TID] = e.Name
		case sample.Fork:
			if name, ok := r.commands[e.Parent]; ok && r.commands[e.TID] == "" {
				r.commands[e.TID] = name
			}
		}
	}
}

// stack returns a sample with names.
func (r *Recording) stack(s *sample.Sample, info *sample.Info) *sample.NamedStack {
	r.frames = r.frames[:0]
	at := place{pid: s.PID}
	for _, addr := range s.Stack {
		r.frames = append(r.frames, r.frame(&at, addr))
	}
	if len(s.Stack) == 0 && len(s.Branches) > 0 { // the newest one led to where the sample is
		r.frames = append(r.frames, r.frame(&at, s.Branches[0].To))
	}
	slices.Reverse(r.frames)
	out := &sample.NamedStack{Frames: r.frames, Command: r.commands[s.TID], PID: s.PID, TID: s.TID, Value: s.Count, Unit: sample.Samples, Moments: s.Count}
	if int(s.Event) < len(info.Events) {
		out.Event = info.Events[s.Event]
	}
	if s.Period > 0 {
		out.Value, out.Unit = s.Period, stacktext.UnitOf(out.Event)
	}
	return out
}

const (
	kernelSpace   = 1 << 63
	kernelSpace32 = 0xc0000000 // of Linux on machines of 32 bits, if it is not configured otherwise
	kernelPath    = "[kernel.kallsyms]"
	unknown       = "[unknown]"
)

// place is where on a stack a frame is, from the inside outwards.
type place struct {
	pid int32
	// user says that the frame before was of the program: this one is its caller. The first frame of the program is none,
	// also where the kernel has frames inside of it.
	user bool
}

// inKernel reports whether an address, which the mapping is at, is the kernel's. simpleperf writes one mapping of the
// kernel, of all addresses.
func inKernel(at *place, m *sample.Mapping, addr uint64) bool {
	if at.user { // the kernel calls no program, and a stack that was not unwound well can have any address
		return false
	}
	return addr >= kernelSpace || m != nil && m.Path == kernelPath && addr >= kernelSpace32 && addr < 1<<32
}

// frame returns the function at an address of a process. That of a caller may be after the call: of one that does not
// return, after the function.
func (r *Recording) frame(at *place, addr uint64) sample.NamedFrame {
	m := r.spaces.Lookup(at.pid, addr)
	if inKernel(at, m, addr) {
		if f := r.files[kernelPath]; f != nil {
			if s := f.At(addr); s != nil {
				return sample.NamedFrame{Name: s.Name, Kind: sample.KernelFrame}
			}
		}
		return sample.NamedFrame{Name: "[kernel]", Kind: sample.KernelFrame}
	}
	caller := at.user
	at.user = true
	if m == nil || m.Path == kernelPath {
		return r.unmapped(at.pid, addr)
	}
	f := r.files[m.Path]
	if f == nil {
		return sample.NamedFrame{Name: fileName(m.Path)}
	}
	s := find(f, m, addr)
	if caller && s != nil && s.Addr == inFile(f, m, addr) {
		if before := find(f, m, addr-1); before != nil {
			s = before
		}
	}
	if s == nil {
		return sample.NamedFrame{Name: fileName(f.Path)}
	}
	kind := sample.UserFrame
	if f.Kind == simpleperf.SymbolMap || jitCache(f.Path) != "" {
		kind = sample.JITFrame
	}
	// Functions of the dynamic linker have a prefix, which keeps them apart from those of libc.
	return sample.NamedFrame{Name: strings.TrimPrefix(s.Name, "__dl_"), Kind: kind}
}

// unmapped returns the function at an address that is in no file: of code that was generated, the program may have written
// a list, which simpleperf reads.
func (r *Recording) unmapped(pid int32, addr uint64) sample.NamedFrame {
	if f := r.files[fmt.Sprintf("perf-%d.map", pid)]; f != nil {
		if s := f.At(addr); s != nil {
			return sample.NamedFrame{Name: s.Name, Kind: sample.JITFrame}
		}
	}
	return sample.NamedFrame{Name: unknown}
}

// jitCache returns what simpleperf calls a file of code that Android's runtime generated, "" if it is another one. These
// are a part of a file beside the recording: perf.data_jit_app_cache:0-4096. Versions until 2020 call them jit_app_cache.
func jitCache(file string) string {
	switch {
	case strings.Contains(file, "jit_app_cache"):
		return "JIT app cache"
	case strings.Contains(file, "jit_zygote_cache"):
		return "JIT zygote cache"
	}
	return ""
}

// fileName stands for code without a symbol in a file.
func fileName(file string) string {
	base := cmp.Or(jitCache(file), path.Base(file))
	return "[" + strings.Trim(base, "[]") + "]"
}

// find returns the function at an address: by its place in the file, or, of code that was generated, by the address itself.
func find(f *simpleperf.SymbolFile, m *sample.Mapping, addr uint64) *simpleperf.FileSymbol {
	if s := f.At(inFile(f, m, addr)); s != nil {
		return s
	}
	return f.At(addr)
}

// inFile returns the address of the file that is at an address of a process.
func inFile(f *simpleperf.SymbolFile, m *sample.Mapping, addr uint64) uint64 {
	switch {
	case f.Kind == simpleperf.Dex:
		return m.FileOffset(addr)
	case f.Kind == simpleperf.ELF && f.Known:
		return m.FileOffset(addr) - f.Offset + f.Addr
	case f.Kind == simpleperf.ELF:
		return addr - m.Start + f.Addr
	case f.Kind == simpleperf.KernelModule:
		return addr - m.Start - f.Offset + f.Addr
	}
	return addr
}

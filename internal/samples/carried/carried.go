// Package carried names the functions of recordings that have the symbols of the files that ran: those of simpleperf,
// which records on a phone, and is reported elsewhere. The files are not needed then.
package carried

import (
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
	for i, addr := range s.Stack {
		r.frames = append(r.frames, r.frame(s.PID, addr, i > 0))
	}
	if len(s.Stack) == 0 && len(s.Branches) > 0 { // the newest one led to where the sample is
		r.frames = append(r.frames, r.frame(s.PID, s.Branches[0].To, false))
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
	kernelSpace = 1 << 63
	kernelPath  = "[kernel.kallsyms]"
	unknown     = "[unknown]"
)

// frame returns the function at an address of a process. That of a caller may be after the call: of one that does not
// return, after the function.
func (r *Recording) frame(pid int32, addr uint64, caller bool) sample.NamedFrame {
	m := r.spaces.Lookup(pid, addr)
	switch {
	case addr >= kernelSpace || m != nil && m.Path == kernelPath: // of 32 bits
		if f := r.files[kernelPath]; f != nil {
			if s := f.At(addr); s != nil {
				return sample.NamedFrame{Name: s.Name, Kind: sample.KernelFrame}
			}
		}
		return sample.NamedFrame{Name: "[kernel]", Kind: sample.KernelFrame}
	case m == nil:
		return sample.NamedFrame{Name: unknown}
	}
	f := r.files[m.Path]
	if f == nil {
		return sample.NamedFrame{Name: "[" + path.Base(m.Path) + "]"}
	}
	s := find(f, m, addr)
	if caller && s != nil && s.Addr == inFile(f, m, addr) {
		if before := find(f, m, addr-1); before != nil {
			s = before
		}
	}
	if s == nil {
		return sample.NamedFrame{Name: "[" + path.Base(f.Path) + "]"}
	}
	kind := sample.UserFrame
	if f.Kind == simpleperf.SymbolMap || strings.HasPrefix(path.Base(f.Path), "jit_") { // jit_app_cache, jit_zygote_cache
		kind = sample.JITFrame
	}
	return sample.NamedFrame{Name: s.Name, Kind: kind}
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

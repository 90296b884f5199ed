package sampleset

import (
	"context"

	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/sample"
)

// maxRan limits the files that are looked for. Stacks number them by a byte.
const maxRan = 255

// ranFiles are the files of which code was mapped, and the samples in them.
type ranFiles struct {
	list   []*ran
	left   uint64           // samples in files beyond maxRan
	kernel uint64           // samples that have nothing but the kernel
	tables *pipeline.Tables // unwinds copies of stacks

	// Of the input that is read.
	files  *mapped.Processes
	byMap  map[*sample.Mapping]mappedFile
	last   *sample.Mapping // that was found last, of a process
	pid    int32
	file   mappedFile // of last
	frames []uint64   // of a stack
	rules  stackcopy.Memory
	kept   *samplefile.Kept
	damage []*sample.Damage // of the input that was read last
	text   bool             // it is text
	empty  error            // why it has no samples
}

// mappedFile is what a mapping has.
type mappedFile struct {
	ran    *ran             // nil without a file, and beyond maxRan
	left   bool             // it is beyond maxRan
	table  *stackcopy.Table // nil if there is none, or it was not looked for
	looked bool             // for the table
}

func newRanFiles() *ranFiles {
	r := &ranFiles{}
	r.tables = pipeline.NewTables(func(m *sample.Mapping) (path, id string) {
		if x := r.of(m); x != nil {
			path, _ = x.here()
		}
		return path, ""
	})
	return r
}

// of returns the file of a mapping of code, nil if it has none.
func (r *ranFiles) of(m *sample.Mapping) *ran {
	if !isFile(m) {
		return nil
	}
	for _, x := range r.list {
		if x.path == m.Path && x.id == m.BuildID {
			return x
		}
	}
	if len(r.list) >= maxRan {
		return nil
	}
	x := &ran{path: m.Path, id: m.BuildID}
	r.list = append(r.list, x)
	return x
}

// isFile reports whether a mapping is code of a file.
func isFile(m *sample.Mapping) bool {
	return m.Exec && !mapped.Anonymous(m) && m.Path[0] != '['
}

// read adds the files of an input, and returns its number of samples. What it read is kept, nil if that is too much.
func (r *ranFiles) read(ctx context.Context, path string) (samples uint64, kept *samplefile.Kept, err error) {
	in, err := samplefile.Open(path, nil)
	if err != nil {
		return 0, nil, err
	}
	defer in.Close()
	defer logfile.Guard(path, &err)()
	r.files, r.byMap, r.last = mapped.NewProcesses(mapped.New(nil, nil)), map[*sample.Mapping]mappedFile{}, nil
	r.rules.Forget()
	r.kept = &samplefile.Kept{}
	if in.Info().AllPIDs {
		r.files.Spaces.Named()
	}
	for b, err := range in.Batches(ctx) {
		if err != nil {
			return 0, nil, err
		}
		if len(b.Events) > 0 {
			r.files.Apply(b.Events)
			r.last = nil
			r.rules.Forget()
		}
		r.kept.Batch(b)
		for i := range b.Samples {
			if i+ahead < len(b.Samples) && b.Samples[i+ahead].User != nil {
				r.rules.Ahead(b.Samples[i+ahead].User)
			}
			samples += b.Samples[i].Count
			r.sample(&b.Samples[i])
		}
		b.Release()
	}
	r.text, r.empty = in.Text, samplefile.Empty(in.Info(), in.Stats())
	if r.damage = in.Stats().Damage; !r.kept.End(in) {
		return samples, nil, nil
	}
	return samples, r.kept, nil
}

const kernelSpace = 1 << 63

// ahead is the number of samples before one when the processor is asked for its copy of the stack.
const ahead = 4

// sample counts the addresses of a sample.
func (r *ranFiles) sample(s *sample.Sample) {
	if s.User != nil {
		r.copied(s)
		return
	}
	inner, inKernel := true, true
	for _, addr := range s.Stack {
		if addr < kernelSpace {
			r.count(s, addr, inner)
			inner = false
		}
	}
	for i := range s.Branches {
		r.count(s, s.Branches[i].From, false)
		r.count(s, s.Branches[i].To, i == 0 && inner)
		inKernel = inKernel && min(s.Branches[i].From, s.Branches[i].To) >= kernelSpace
	}
	if inKernel && inner && len(s.Stack)+len(s.Branches) > 0 {
		r.kernel += s.Count
	}
	r.kept.Sample(s, s.Stack, 0)
}

// count counts an address, and the sample if it is the one where it was taken.
func (r *ranFiles) count(s *sample.Sample, addr uint64, innermost bool) {
	if addr >= kernelSpace {
		return
	}
	switch f := r.at(s.PID, addr); {
	case f == nil:
	case f.ran != nil:
		f.ran.frames += s.Count
		if innermost {
			f.ran.samples += s.Count
		}
	case f.left && innermost:
		r.left += s.Count
	}
}

// copied counts the frames of a copy of a stack, after those of the kernel.
func (r *ranFiles) copied(s *sample.Sample) {
	stack := r.frames[:0]
	for _, addr := range s.Stack {
		if addr < kernelSpace {
			break
		}
		stack = append(stack, addr)
	}
	inKernel := len(stack)
	r.rules.Enter(s.PID)
	stack, end := r.rules.Walk(stack, s.User, stackcopy.MachineOf(s.User), func(pc uint64) *stackcopy.Table { return r.table(s.PID, pc) })
	for i, addr := range stack[inKernel:] {
		r.count(s, addr, i == 0)
	}
	r.kept.Sample(s, stack, 1+uint8(end))
	r.frames = stack
}

// table returns the unwind table for an address of a process, nil if there is none.
func (r *ranFiles) table(pid int32, pc uint64) *stackcopy.Table {
	f := r.at(pid, pc)
	if f == nil || f.ran == nil {
		return nil
	}
	if !f.looked {
		f.table, f.looked = r.tables.Of(r.last), true
		r.byMap[r.last] = *f
	}
	return f.table
}

// at returns what is at an address of a process, nil if nothing was mapped there.
func (r *ranFiles) at(pid int32, addr uint64) *mappedFile {
	if m := r.last; m != nil && r.pid == pid && m.Contains(addr) {
		return &r.file
	}
	m := r.files.Spaces.Lookup(pid, addr)
	if m == nil {
		return nil
	}
	f, ok := r.byMap[m]
	if !ok {
		const most = 1 << 14
		if len(r.byMap) >= most { // it includes mappings that ended
			clear(r.byMap)
		}
		f.ran = r.of(m)
		f.left = f.ran == nil && isFile(m)
		if x := f.ran; x != nil && x.pid == 0 {
			x.pid, x.start = pid, m.Start
		}
		r.byMap[m] = f
	}
	r.last, r.pid, r.file = m, pid, f
	return &r.file
}

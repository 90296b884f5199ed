package simpleperf

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// A file has no mappings, but where each address is in its file. Samples of a Source have it in an address space of the
// reader's own, in which each file has a slot of 2^slotBits bytes. No process has such addresses.
const (
	slotBits = 48
	maxFiles = 1<<12 - 1
	slots    = 1 << 60
	nowhere  = slots | maxFiles<<slotBits // is never mapped
	kernel   = 1 << 63                    // addresses from here on are the kernel's
)

// Format is the Format of a Source's Info.
const Format = "samples of simpleperf"

// noBuildIDs is what a user should know of samples.
const noBuildIDs = "files are recognised by their names alone, as it has no build ids, which would show another build of a program: simpleperf's perf.data has them"

// What can be wrong with an address.
const (
	badAddress = "an address exceeds 48 bits, and has no file"
	manyFiles  = "there are more than 4095 files: addresses in the others have no file"
)

// maxUses bounds the files of all threads.
const maxUses = 1 << 20

var errUses = errors.New("its threads ran in more than 1,048,576 files together")

// Source is a file as samples with addresses. It implements sample.Source. Its memory does not depend on the number of
// samples, as the file is read twice.
type Source struct {
	in    io.ReaderAt
	info  sample.Info
	stats sample.Stats
	known *reader       // the files and threads
	uses  map[use]bool  // what threads ran in
	batch *sample.Batch // that is being made
	// unnamed says that there are samples of an event that has no name. It is the last one then.
	unnamed bool
}

// use is a file in which a thread had a frame.
type use struct {
	tid  int32
	file uint32
}

// Open reads the files and threads of a file of size bytes. name is that of the file in messages.
func Open(r io.ReaderAt, size int64, name string) (*Source, error) {
	s := &Source{
		in: r, info: sample.Info{File: name, Format: Format, Size: size, Kind: sample.Nothing},
		known: newReader(name), uses: map[use]bool{},
	}
	x := s.known
	x.bare, x.take = true, s.note
	if err := x.read(io.NewSectionReader(r, 0, size)); err != nil {
		return nil, x.failed(err)
	}
	if s.info.Kind == sample.Stacks {
		s.info.Notes = []string{noBuildIDs}
	}
	s.info.Events = x.events
	if s.unnamed {
		s.info.Events = append(s.info.Events, "")
	}
	s.info.HasPIDs = len(x.threads) > 0
	s.info.AllPIDs = true
	for u := range s.uses {
		_, known := x.threads[u.tid]
		s.info.AllPIDs = s.info.AllPIDs && known
	}
	return s, nil
}

// note remembers the files of a sample.
func (s *Source) note(m *moment) error {
	s.info.Kind = sample.Stacks
	s.unnamed = s.unnamed || int64(m.event) >= int64(len(s.known.events))
	for i := range m.chain {
		s.uses[use{int32(m.tid), m.chain[i].file}] = true
	}
	if len(s.uses) > maxUses {
		return errUses
	}
	return nil
}

// Info returns the description of the file.
func (s *Source) Info() *sample.Info { return &s.info }

// Stats returns the counts so far.
func (s *Source) Stats() *sample.Stats { return &s.stats }

// errStopped ends reading.
var errStopped = errors.New("stopped")

// Batches yields the samples, and before them the names of threads and the places of files.
func (s *Source) Batches(ctx context.Context) iter.Seq2[*sample.Batch, error] {
	return func(yield func(*sample.Batch, error) bool) {
		send := func() error {
			b := s.batch
			s.batch = sample.NewBatch()
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(b, nil) {
				return errStopped
			}
			return nil
		}
		x := newReader(s.info.File)
		x.bare = true
		x.take = func(m *moment) error {
			s.stats.Bytes = m.at
			s.add(x, m)
			const most = 1 << 10
			if len(s.batch.Samples) < most {
				return nil
			}
			return send()
		}
		s.batch = sample.NewBatch()
		s.batch.Events = s.events()
		err := x.read(io.NewSectionReader(s.in, 0, s.info.Size))
		s.stats.Bytes = s.info.Size
		s.stats.Merge(&sample.Stats{Damage: x.damage})
		if err == nil {
			err = send()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, x.failed(err))
		}
	}
}

// events returns the names of threads and the files of processes.
func (s *Source) events() (events []sample.Event) {
	for _, tid := range slices.Sorted(maps.Keys(s.known.threads)) {
		t := s.known.threads[tid]
		events = append(events, sample.Event{Kind: sample.Comm, PID: s.process(tid), TID: tid, Name: t.name})
	}
	mapped := map[use]bool{} // by process
	for u := range s.uses {
		if f := s.known.files[u.file]; f.mapped() && u.file < maxFiles {
			mapped[use{s.process(u.tid), u.file}] = true
		}
	}
	all := slices.Collect(maps.Keys(mapped))
	stablesort.Func(all, func(a, b use) int { return cmp.Or(cmp.Compare(a.tid, b.tid), cmp.Compare(a.file, b.file)) })
	for _, u := range all {
		events = append(events, sample.Event{Kind: sample.Map, PID: u.tid, TID: u.tid, Mapping: sample.Mapping{
			Start: slots | uint64(u.file)<<slotBits, Size: 1 << slotBits, Path: s.known.files[u.file].path, Exec: true, Linked: true,
		}})
	}
	return events
}

// process returns the process of a thread.
func (s *Source) process(tid int32) int32 {
	if t, ok := s.known.threads[tid]; ok {
		return t.process
	}
	return sample.UnknownPID
}

// mapped reports whether addresses in a file are shown as such: those of the kernel, and of what simpleperf found in no
// file, are not.
func (f *file) mapped() bool {
	return f != nil && f.path != "" && f.path != "unknown" && kindOf(f.path, 0) != sample.KernelFrame
}

// add adds a sample to the batch.
func (s *Source) add(x *reader, m *moment) {
	for i := range m.chain {
		s.batch.Frame(s.place(x, &m.chain[i], m.at))
	}
	tid := int32(m.tid)
	event := min(int64(m.event), int64(len(s.info.Events)-1))
	s.stats.Add(s.batch.End(sample.Sample{
		PID: s.process(tid), TID: tid, InCalls: true, Count: 1, Period: m.count, Event: uint16(event),
	}))
}

// place returns the address of a frame.
func (s *Source) place(x *reader, e *entry, at int64) uint64 {
	f := s.known.files[e.file]
	switch {
	case f != nil && kindOf(f.path, 0) == sample.KernelFrame:
		return kernel | e.addr
	case !f.mapped():
		return nowhere
	case e.addr>>slotBits != 0:
		x.damaged(badAddress, at)
		return nowhere
	case e.file >= maxFiles:
		x.damaged(manyFiles, at)
		return nowhere
	}
	return slots | uint64(e.file)<<slotBits | e.addr
}

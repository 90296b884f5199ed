// Package perfdata reads the output of `perf record`, from a file or from a pipe (`perf record -o -`): samples
// with call stacks and branch records, and mappings. It takes either byte order, several events, and compressed
// data (`perf record -z`).
//
//	"PERFILE2" | sizes | attributes of the events | data | features
//	data: records of u32 type, u16 misc, u16 size, ...
//
// A pipe has "PERFILE2", u64 16 and then only records; attributes and features are records, too. The form of a
// sample is given by the attributes of its event.
//
// The kernel writes a buffer for each processor, and perf writes these one after the other. Records are sorted
// by time as perf does: at the end of a round, all records older than the end of the previous round have been
// read.
//
// Of hardware traces, those of Arm's Statistical Profiling Extension are read: a branch is a sample. What is
// left out: other traces (Intel PT and the like), registers, pieces of the stack, directories of `perf record
// --threads`.
package perfdata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/cairnprof/cairn/sample"
)

// Detect reports whether a file that begins with head is of perf.
func Detect(head []byte) bool {
	if len(head) < len(magic) {
		return false
	}
	s := string(head[:len(magic)])
	return s == magic || s == magicBig || s == magicOld
}

// What can be wrong with a file.
const (
	badEnd     = "a record is truncated: nothing after it can be read"
	badRecord  = "a record is shorter than what should be in it and was skipped"
	badTrace   = "the trace of the Statistical Profiling Extension has a damaged record, which was skipped"
	badEventID = "a sample is of an event that the header does not have and was skipped"
)

// Reader reads a file. It implements sample.Source.
type Reader struct {
	info  sample.Info
	stats sample.Stats
	big   bool
	attrs []attr
	ids   map[uint64]uint16 // events by id
	in    input
	// spe says that the file has a trace of Arm's Statistical Profiling Extension.
	spe      bool
	speEvent uint16                         // the event of the trace
	clock    *clock                         // of the trace, nil if the file does not say
	others   map[int]func() ([]byte, error) // features of other tools
	// begin is the first record of the kernel in a pipe. Open has read it.
	begin *record
}

// Open begins to read a file of size bytes. name is that of the file in messages.
func Open(r io.ReaderAt, size int64, name string) (*Reader, error) {
	p := &Reader{
		info: sample.Info{File: name, Format: "perf.data", Size: size, BuildIDs: map[string]string{}},
		ids:  map[uint64]uint16{}, others: map[int]func() ([]byte, error){},
	}
	if err := p.open(r, size); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.describe()
	return p, nil
}

func (p *Reader) open(r io.ReaderAt, size int64) error {
	head := make([]byte, headerSize)
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("reading: %w", err)
	}
	head = head[:n]
	if n < pipeHeader || !Detect(head) {
		return errors.New("not a file of perf record")
	}
	if string(head[:len(magic)]) == magicOld {
		return errors.New("written by a perf before version 3.4, in a form that is not read: record again with a newer one")
	}
	p.big = string(head[:len(magic)]) == magicBig
	if number64(head[8:], p.big) == pipeHeader {
		p.in = input{file: r, pos: pipeHeader, end: size, big: p.big}
		return p.beginPipe()
	}
	if n < headerSize {
		return errors.New("the file ends in its header")
	}
	if err := p.fileHeader(r, size, head); err != nil {
		return err
	}
	return p.traceInfo()
}

// beginPipe reads the records that describe a pipe.
func (p *Reader) beginPipe() error {
	p.info.Format = "perf.data from a pipe"
	for {
		r, err := p.in.next()
		if err != nil {
			if errors.Is(err, errCut) || err == io.EOF {
				return nil // Batches reports it
			}
			return err
		}
		if kind, _, _ := header(r.data, p.big); kind < recordKernelEnd || kind == recordCompressed || kind == recordCompressed2 {
			p.begin = &r
			return nil
		}
		if err := p.describing(r); err != nil {
			return err
		}
	}
}

// describe completes the Info from the events.
func (p *Reader) describe() {
	if p.spe {
		p.info.Kind = sample.Branches
	}
	p.info.AllPIDs = !p.spe
	p.info.Simpleperf = p.ofSimpleperf()
	for i := range p.attrs {
		a := &p.attrs[i]
		p.info.Kind = max(p.info.Kind, a.sampleKind())
		p.info.Events = append(p.info.Events, a.label())
		p.info.Copies = p.info.Copies || a.sampleType&sampleStackUser != 0
		p.info.HasPIDs = p.info.HasPIDs || a.sampleType&sampleTID != 0
		p.info.AllPIDs = p.info.AllPIDs && a.sampleType&sampleTID != 0
		switch {
		case a.sampleType&sampleBranchStack == 0:
		case a.hasBranches() && a.branchType&branchSome != 0 && a.branchType&branchAny == 0:
			p.info.Notes = append(p.info.Notes, "only some kinds of branches were recorded, so the code between them is unknown; record with -b")
		}
	}
}

// Info returns the contents of the header.
func (p *Reader) Info() *sample.Info { return &p.info }

// Stats returns the counts so far.
func (p *Reader) Stats() *sample.Stats { return &p.stats }

// Batches yields the records in the order of their times.
func (p *Reader) Batches(ctx context.Context) iter.Seq2[*sample.Batch, error] {
	return func(yield func(*sample.Batch, error) bool) {
		s := &session{Reader: p, batch: sample.NewBatch(), yield: yield}
		defer s.close()
		err := s.run(ctx)
		switch {
		case s.stopped:
		case err != nil:
			yield(nil, fmt.Errorf("%s: %w", p.info.File, err))
		default:
			s.give()
		}
	}
}

// Package perfscript reads the text that `perf script` prints of samples with call
// stacks, with branch records (LBR) or with both:
//
//	PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ 0x1000 fe:00 543 0]: r-xp /bin/prog
//	3                                 the next sample, three times (optional)
//	            401136                where the thread was
//	            401182                return addresses outwards
//	 0x40118e/0x401130/P/-/-/4  0x4011a0/0x401180/M/-/-/9      newest branch first
//	                                  a blank line
//
// That is the output of `perf script -F ip,brstack --show-mmap-events`, which
// llvm-profgen reads. The output of other -F is accepted as well: a line before the
// sample with the command, process, thread, processor, time and event, symbols and
// files after addresses, events of tasks. Branches without a stack are on one line,
// which may begin with the address:
//
//	401136 0x40118e/0x401130/P/-/-/4 0x4011a0/0x401180/M/-/-/9
//
// Before an address may be the build id of its file, as in aabbccdd:0x4005c8: then it is a link-time address. Build ids
// have at least 8 digits, and mappings of their files precede the samples.
//
// A branch is from/to/prediction, where M is mispredicted, and more fields, which
// are not used. A branch that cannot be parsed ends its line, as in llvm-profgen; the
// branches before it are used. Lines that begin with # or // are comments, and all other
// lines are counted and skipped.
//
// The text is read in blocks that end between samples, on all processors.
package perfscript

import (
	"bytes"
	"context"
	"io"
	"iter"
	"runtime"
	"sync"

	"github.com/cairnprof/cairn/sample"
)

// WholeStacks is one of the comments at the beginning of a text. It declares that stacks have the caller in
// prologues and epilogues too, where a walk of frame pointers misses it.
const WholeStacks = "# stacks: whole\n"

// saysWhole reports whether WholeStacks is among the comments at the beginning of text; tools may insert their
// own before it.
func saysWhole(text []byte) bool {
	for line := range bytes.Lines(text) {
		switch line = bytes.TrimRight(line, "\r\n"); {
		case string(line)+"\n" == WholeStacks:
			return true
		case len(line) > 0 && line[0] != '#':
			return false
		}
	}
	return false
}

// Detect reports whether a file that begins with head is such text: whether it contains samples or events, or
// so far only comments.
func Detect(head []byte) bool {
	b := parseHead(head)
	return len(head) > 0 && damageOf(b) <= b.stats.Samples+events(b)
}

// HasAddresses reports whether a file that begins with head is such text and has a stack, branches or an event there.
// Any line can be the first of a sample without these, and a word such as "a" a number below firstMapped.
func HasAddresses(head []byte) bool {
	b := parseHead(head)
	found := events(b)
	for _, batch := range b.batches {
		for i := range batch.Samples {
			if s := &batch.Samples[i]; len(s.Stack) > 0 && s.Stack[0] >= firstMapped || len(s.Branches) > 0 {
				found++
			}
		}
	}
	return found > 0 && damageOf(b) <= found
}

// firstMapped is the lowest address that a program can have mapped: Linux leaves the first page free.
const firstMapped = 1 << 12

func parseHead(head []byte) *block {
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1] // the line after it may be cut off
	}
	b := &block{text: head, flat: FlatOnly(head)}
	parse(b)
	return b
}

func events(b *block) (n uint64) {
	for _, batch := range b.batches {
		n += uint64(len(batch.Events))
	}
	return n
}

// damageOf returns the number of lines that cannot be read.
func damageOf(b *block) (n uint64) {
	for _, d := range b.stats.Damage {
		n += d.Count
	}
	return n
}

// Reader reads text. It implements sample.Source.
type Reader struct {
	info   sample.Info
	stats  sample.Stats
	blocks cutter
	first  *block // which Open has read already
	links  links
}

// Open begins to read text from r. name is the file's name in messages, and size its length, 0 if unknown.
func Open(r io.Reader, name string, size int64) (*Reader, error) {
	p := &Reader{
		info:   sample.Info{File: name, Format: "perf script text", Size: size},
		blocks: cutter{in: r},
	}
	first, err := p.blocks.next()
	if err != nil && err != io.EOF {
		return nil, err
	}
	if first == nil {
		return p, nil
	}
	whole := saysWhole(first.text)
	first.mapped = mappings{}
	parse(first)
	p.blocks.free(first)
	p.first = first
	p.info.Kind, p.info.HasPIDs = first.looks()
	p.info.Whole = whole
	return p, nil
}

// Info returns what the text contains, from its first block.
func (p *Reader) Info() *sample.Info { return &p.info }

// Stats returns the counts so far.
func (p *Reader) Stats() *sample.Stats { return &p.stats }

// Batches yields the samples in the order of the text.
func (p *Reader) Batches(ctx context.Context) iter.Seq2[*sample.Batch, error] {
	return func(yield func(*sample.Batch, error) bool) {
		if p.first == nil {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		blocks, wait := p.read(ctx)
		defer wait()
		defer cancel()
		lines := int64(0)
		for {
			var b *block
			select {
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			case b = <-blocks:
			}
			if b == nil {
				return
			}
			select {
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			case <-b.parsed:
			}
			p.links.adopt(b)
			for _, d := range b.stats.Damage {
				d.Line += lines
				d.File = p.info.File
			}
			lines += b.lines
			p.stats.Merge(&b.stats)
			for _, batch := range b.batches {
				batch.Whole = p.info.Whole
				if !yield(batch, nil) {
					return
				}
			}
			if b.err != nil {
				yield(nil, b.err)
				return
			}
		}
	}
}

// read reads blocks and parses several of them at once. They are yielded in order; each is ready when its
// parsed is closed. wait returns when everything has ended, early if ctx ends.
func (p *Reader) read(ctx context.Context) (ordered <-chan *block, wait func()) {
	workers := runtime.GOMAXPROCS(0)
	out := make(chan *block, workers+1) // bounds the blocks that are in memory
	work := make(chan *block, workers)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for b := range work {
				parse(b)
				p.blocks.free(b)
				close(b.parsed)
			}
		})
	}
	close(p.first.parsed)
	out <- p.first
	running.Go(func() {
		defer close(out)
		defer close(work)
		for ctx.Err() == nil {
			b, err := p.blocks.next()
			if err == io.EOF {
				return
			}
			if b != nil {
				b.offsets = p.first.offsets
			}
			if err != nil {
				b = &block{err: err, parsed: make(chan struct{})}
				close(b.parsed)
			}
			select {
			case out <- b:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
			work <- b
		}
	})
	return out, running.Wait
}

// Package xraytest writes XRay logs of every version and both byte orders, for the tests
// of packages that read them. Threads are written call by call, in absolute times;
// blocks, CPU changes and clock wraps follow from that as in LLVM's runtime, with padding
// of arbitrary bytes, as there.
//
//	b := xraytest.New(xraytest.Format{FDR: true, Version: 5})
//	main := b.Thread(100, 100)
//	main.Enter(1, 1000)
//	main.Exit(1, 1250)
//	log, truth := b.Bytes(), b.Memory()
//
// Logs that no runtime writes are assembled from pieces: Assemble leaves blocks
// out, repeats them and changes their order; Raw puts any bytes into a block or
// between two.
package xraytest

import (
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/calllog"
)

// Format is a kind of log.
type Format struct {
	FDR     bool // else basic
	Version int  // basic 1 to 3, FDR 1 to 5
	Big     bool // big-endian
}

func (f Format) String() string {
	name, order := "basic", "le"
	if f.FDR {
		name = "fdr"
	}
	if f.Big {
		order = "be"
	}
	return fmt.Sprintf("%s%d-%s", name, f.Version, order)
}

// Formats returns all formats there are.
func Formats() []Format {
	var list []Format
	for _, big := range []bool{false, true} {
		for v := 1; v <= 3; v++ {
			list = append(list, Format{Version: v, Big: big})
		}
		for v := 1; v <= 5; v++ {
			list = append(list, Format{FDR: true, Version: v, Big: big})
		}
	}
	return list
}

// Sizes of the format.
const (
	headerSize   = 32
	basicSize    = 32 // a record of a basic log
	basicBuffer  = 1024 * basicSize
	metadataSize = 16
	functionSize = 8
)

// padding fills unused bytes.
const padding = 0xAA

// Builder makes one log. Its fields may be set before the first event.
type Builder struct {
	Format Format
	// Hz is the rate in the header, and WallHz the one that the wall-clock
	// times of blocks follow. New sets both to 1 GHz.
	Hz, WallHz uint64
	// BufferSize is that of the runtime in bytes, 16384 from New; a block of an
	// FDR log is never longer.
	BufferSize int
	// TypedDefect cuts a block 16 bytes short for each of its typed events, as
	// the runtimes of LLVM 19 and 22 do. Memory still returns the events.
	TypedDefect bool

	order   binary.AppendByteOrder
	threads []*Thread
	blocks  [][]byte
	parts   []block // the blocks that are of threads
}

// block is a finished block and the events in it.
type block struct {
	thread *Thread
	part   calllog.Part
}

// New returns an empty log.
func New(f Format) *Builder {
	b := &Builder{Format: f, Hz: 1e9, WallHz: 1e9, BufferSize: 16384, order: binary.LittleEndian}
	if f.Big {
		b.order = binary.BigEndian
	}
	return b
}

// Raw puts bytes between two blocks, as a block of its own to Assemble.
func (b *Builder) Raw(p []byte) { b.blocks = append(b.blocks, p) }

// Bytes ends all blocks and returns the file. Blocks are in the order in which
// they became full or were ended with Flush; those left, by thread.
func (b *Builder) Bytes() []byte {
	n := b.Blocks()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return b.Assemble(all...)
}

// Blocks ends all blocks and returns how many there are.
func (b *Builder) Blocks() int {
	for _, t := range b.threads {
		t.Flush()
	}
	return len(b.blocks)
}

// Assemble ends all blocks and returns a file of those with the given numbers,
// counted from 0.
func (b *Builder) Assemble(blocks ...int) []byte {
	b.Blocks()
	file := b.header()
	for _, i := range blocks {
		file = append(file, b.blocks[i]...)
	}
	return file
}

// Memory ends all blocks and returns what a reader must find in Bytes: threads by
// process and id, a part for each block.
func (b *Builder) Memory() *calllog.Memory {
	b.Blocks()
	m := &calllog.Memory{About: calllog.Info{File: b.Format.String(), Clock: calllog.Clock{Hz: b.Hz}}}
	for _, t := range b.sorted() {
		var parts []calllog.Part
		for _, blk := range b.parts {
			if blk.thread == t {
				parts = append(parts, blk.part)
			}
		}
		if parts == nil {
			continue
		}
		m.List = append(m.List, calllog.Thread{PID: t.shownPID(), TID: t.tid})
		m.Content = append(m.Content, parts)
		for _, p := range parts {
			if len(p.Events) > 0 && (m.About.Clock.Start == 0 || p.Events[0].Time < m.About.Clock.Start) {
				m.About.Clock.Start = p.Events[0].Time
			}
		}
	}
	return m
}

func (b *Builder) header() []byte {
	kind := uint16(0)
	if b.Format.FDR {
		kind = 1
	}
	h := b.order.AppendUint16(nil, uint16(b.Format.Version))
	h = b.order.AppendUint16(h, kind)
	h = b.order.AppendUint32(h, padding<<24|padding<<16|padding<<8|padding|3)
	h = b.order.AppendUint64(h, b.Hz)
	if b.Format.FDR {
		h = b.order.AppendUint64(h, uint64(b.BufferSize))
		return b.order.AppendUint64(h, 0)
	}
	return pad(h, headerSize)
}

// pad fills p up to n bytes.
func pad(p []byte, n int) []byte {
	for len(p) < n {
		p = append(p, padding)
	}
	return p
}

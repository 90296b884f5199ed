package mip

import (
	"encoding/binary"
	"fmt"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/disjoint"
	"github.com/cairnprof/cairn/prof"
)

// Modes in the bits of a function's first byte that differ from their numbers.
const (
	fileSampled = 0
	fileEdge    = 7
)

// fileMode returns a mode as functions have it in files.
func fileMode(m prof.Mode) byte {
	switch m {
	case prof.ModeEdge:
		return fileEdge
	case prof.ModeSampled:
		return fileSampled
	}
	return byte(m)
}

// modeOf returns the mode of the bits of a function.
func modeOf(bits byte) prof.Mode {
	switch bits & funcModeMask {
	case fileEdge:
		return prof.ModeEdge
	case fileSampled:
		return prof.ModeSampled
	}
	return prof.Mode(bits & funcModeMask)
}

// flowHead packs the flags of a block and the number of blocks to which it goes on.
func flowHead(f *prof.Flow) uint64 {
	head := uint64(len(f.Next)) * wire.FlowNext
	if f.Entered {
		head |= wire.FlowEntered
	}
	if f.Leaves {
		head |= wire.FlowLeaves
	}
	return head
}

// setFlow unpacks the flags, and returns the number of blocks that follow.
func setFlow(f *prof.Flow, head uint64) (next uint64) {
	f.Entered, f.Leaves = head&wire.FlowEntered != 0, head&wire.FlowLeaves != 0
	return head / wire.FlowNext
}

// appendFlow writes the flow of a function's blocks. Most lead to blocks near them.
func appendFlow(b []byte, flow []prof.Flow) []byte {
	for i := range flow {
		b = binary.AppendUvarint(b, flowHead(&flow[i]))
		near := uint64(i)
		for _, to := range flow[i].Next {
			b = appendDelta(b, uint64(to), near)
			near = uint64(to)
		}
	}
	return b
}

// readFlow reads the flow of n blocks.
func readFlow(c *bytecur.Cursor, n int) []prof.Flow {
	off := c.Off()
	flow := make([]prof.Flow, c.CheckCount(off, uint64(n), "blocks with edges", MaxBlocks, 1))
	for i := range flow {
		off := c.Off()
		next := c.CheckCount(off, setFlow(&flow[i], c.Uvarint()), "blocks after another", MaxBlocks, 1)
		near := uint64(i)
		for range next {
			near = readBlockIndex(c, readDelta(c, near))
			flow[i].Next = append(flow[i].Next, uint32(near))
		}
	}
	return flow
}

// appendSectionFlow writes the same for a map section.
func appendSectionFlow(b []byte, flow []prof.Flow) []byte {
	for i := range flow {
		b = binary.LittleEndian.AppendUint32(b, uint32(flowHead(&flow[i])))
		for _, to := range flow[i].Next {
			b = binary.LittleEndian.AppendUint32(b, to)
		}
	}
	return b
}

// readSectionFlow reads that of n blocks.
func readSectionFlow(c *bytecur.Cursor, n int) []prof.Flow {
	flow := make([]prof.Flow, c.CheckCount(c.Off(), uint64(n), "blocks with edges", MaxBlocks, 4))
	for i := range flow {
		off := c.Off()
		for range c.CheckCount(off, setFlow(&flow[i], uint64(c.U32())), "blocks after another", MaxBlocks, 4) {
			flow[i].Next = append(flow[i].Next, c.U32())
		}
	}
	return flow
}

// checkFlow reports the first rule that the flow of f breaks. Executions of all edges must follow from the counters,
// so those without any may not form a cycle (package edges).
func checkFlow(f *prof.Func, blocks int) error {
	if !f.Mode.HasEdges() {
		if len(f.Flow) > 0 {
			return fmt.Errorf("edges in mode %s", f.Mode)
		}
		return nil
	}
	if len(f.Flow) != blocks {
		return fmt.Errorf("edges of %d blocks, there are %d", len(f.Flow), blocks)
	}
	sets := disjoint.New(1 + 2*blocks) // what is outside, and where each block is entered and left
	in, out := func(b uint32) int { return 1 + 2*int(b) }, func(b uint32) int { return 2 + 2*int(b) }
	for i := range f.Flow {
		b, flow := uint32(i), &f.Flow[i]
		for k, to := range flow.Next {
			if int64(to) >= int64(blocks) || k > 0 && to <= flow.Next[k-1] {
				return fmt.Errorf("block %d goes on to block %d of %d: out of range or order", i, to, blocks)
			}
			if !sets.Join(out(b), in(to)) {
				return cycleError(b)
			}
		}
		if flow.Leaves && !sets.Join(out(b), 0) || flow.Entered && !sets.Join(in(b), 0) {
			return cycleError(b)
		}
	}
	for i := range f.Implied {
		if b := f.Implied[i].Block; !sets.Join(in(b), out(b)) {
			return cycleError(b)
		}
	}
	return nil
}

func cycleError(block uint32) error {
	return fmt.Errorf("the counters do not tell how often block %d ran", block)
}

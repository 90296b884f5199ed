// Package timeline computes levels of detail of logs of calls, so that a page can draw a
// hundred million calls: at each zoom, calls that are shorter than a pixel are merged into
// blocks. It also computes flame graphs of logs and of parts of them, and the strips of frames
// and spikes. It is pure.
//
// # Levels
//
// At level k, a cell is 2^k nanoseconds (ticks, if the length of a tick is unknown), from the
// beginning of the time line. A call that lasts at least a cell is a separate record. Shorter
// calls of a thread at one depth that begin in the same cell form one block, which has their
// number, their time, and the function that took most of it. Level 0 has every call.
//
// A record, a call or a block, is the same on all levels from the one on which it is created
// to the one before it is merged with its neighbour. It is stored once, with these two levels,
// so all levels together have less than twice as many records as there are calls. Records that
// end at level k form one series of their thread. Within a series, records of one depth do not
// overlap and at most one begins in each cell of the level, so a view at level k reads series
// k and above, each of which has at most half as many records as the one below.
//
// # Index
//
// Build writes the levels of all threads in one pass, with memory that depends on the depth of
// stacks and on the number of functions. The index has little-endian numbers, and varints as
// in encoding/binary:
//
//	"cairnlv\x01"        magic and version
//	chunks               records of one series, one after the other
//	directory            see below
//	offset of directory  8 bytes
//	size of directory    8 bytes
//	"cairnlv\x01"
//
// A record is
//
//	depth<<2 | kind      0 a call, 1 a call without an exit, 2 a block
//	start                signed: relative to the record before it in the chunk, 0 at first
//	end - start
//	function             index into the directory's
//	of a block: calls, time that it is idle, level from which on it is
//
// The directory is: unit (a string: its length, its bytes), end of the time line; the number
// of notes, and these; the number of functions, and of each the name and the shade; the
// number of lanes, and of each name, log, process, thread, stack, calls, events, calls deeper than
// are drawn, depth, time of the outermost calls, first, last time, step of the clock; the number of chunks, and
// of each lane, level<<1 | 1 if it is of events, records, the least start, the greatest end,
// offset, size.
//
// # Tiles
//
// A tile is the unit that a page loads. Its records are ordered by depth, then by start:
//
//	1                    version
//	level
//	start                of the tile, in nanoseconds since the time line began
//	records              their number
//	of each:
//	  (depth - depth before) << 2 | kind
//	  start              signed: relative to the end before at this depth, to the tile's start at first
//	  end - start
//	  function
//	  of a block: calls, idle time
//	  in packs: first level, last level
//
// A tile of level k has a length of 2^(k+10) and all records that overlap it. A pack has all
// levels from one on, for the whole time: bit 7 of its level is set.
package timeline

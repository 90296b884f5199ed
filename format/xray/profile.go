package xray

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/saturate"
)

// A profile of XRay (xray_mode=xray-profiling) has the sums of each stack of each thread. All numbers are
// little-endian; compiler-rt's xray_profile_collector.cpp writes, and LLVM's Profile.cpp reads them:
//
//	 0  u64 0x7872617970726f66   8  u64 version, 0x20180424
//	16  u64 ns since 1970       24  u64 process
//
// Then blocks, one for each thread that was collected:
//
//	0  u32 bytes of the block with this head   4  u32 number   8  u64 thread
//
// with records, one for each stack:
//
//	u32 ids of functions, the innermost first; 0 ends the list
//	u64 calls, u64 ticks of all calls outside of callees
//
// Threads that ended between two collections have several blocks. The rate of ticks is not in the file.
const (
	profileMagic   = 0x7872617970726f66
	profileVersion = 0x20180424
	profileHead    = 32
	blockHead      = 16
)

// Limits of a profile.
const (
	maxProfile      = 1 << 30 // bytes
	maxProfileDepth = 1 << 16
	maxProfileNodes = 1 << 24
)

// DetectProfile reports whether a file that begins with head is a profile of XRay. It needs 16 bytes.
func DetectProfile(head []byte) bool {
	return len(head) >= 16 && binary.LittleEndian.Uint64(head) == profileMagic
}

// Profile is an open profile of XRay. It implements calllog.Sums.
type Profile struct {
	info    calllog.Info
	threads []calllog.Thread
	nodes   [][]calllog.StackNode
}

// OpenProfile reads a profile of size bytes. Messages call it name. Damage is in its Info: what follows it in a
// block is skipped.
func OpenProfile(r io.ReaderAt, size int64, name string) (*Profile, error) {
	if size > maxProfile {
		return nil, fmt.Errorf("%s: a profile of XRay of %d bytes: %d are supported", name, size, maxProfile)
	}
	data := make([]byte, size)
	if n, err := r.ReadAt(data, 0); n < len(data) {
		return nil, fmt.Errorf("%s: offset %#x: %w", name, n, err)
	}
	if !DetectProfile(data) || size < profileHead {
		return nil, fmt.Errorf("%s: not a profile of XRay", name)
	}
	c := bytecur.New(data[8:profileHead], 8)
	version, _, pid := c.U64(), c.U64(), c.U64()
	if version != profileVersion {
		return nil, fmt.Errorf("%s: a profile of XRay of version %#x: %#x is supported", name, version, uint64(profileVersion))
	}
	p := &Profile{info: calllog.Info{File: name, Format: "XRay profile", Size: size}}
	p.info.Notes = []string{"it has only sums of each stack: no shortest and longest calls and no percentiles"}
	b := profileBuilder{Profile: p, pid: uint32(pid), index: map[uint32]*profileThread{}}
	for off := int64(profileHead); off < size; {
		off = b.block(data, off)
	}
	b.finish()
	return p, nil
}

// profileBuilder sums the records of a profile.
type profileBuilder struct {
	*Profile
	pid   uint32
	order []*profileThread
	index map[uint32]*profileThread
	total int // nodes
}

type profileThread struct {
	tid   uint32
	nodes []calllog.StackNode
	index map[profileKey]int
	bytes int64
}

type profileKey struct {
	parent int
	fn     calllog.FuncID
}

func (b *profileBuilder) damage(off, size int64, what string) {
	if len(b.info.Damage) < maxDamage {
		b.info.Damage = append(b.info.Damage, &calllog.Damage{File: b.info.File, Offset: off, Size: size, What: what})
	}
}

// block reads the block at off, and returns where the next one is.
func (b *profileBuilder) block(data []byte, off int64) int64 {
	end := int64(len(data))
	if end-off < blockHead {
		b.damage(off, end-off, "the head of a block is cut off")
		return end
	}
	le := binary.LittleEndian
	size, tid := int64(le.Uint32(data[off:])), uint32(le.Uint64(data[off+8:]))
	switch {
	case size < blockHead:
		b.damage(off, end-off, fmt.Sprintf("a block of %d bytes", size))
		return end
	case size > end-off:
		b.damage(off+blockHead, end-off-blockHead, fmt.Sprintf("a block of %d bytes is cut off", size))
		size = end - off
	}
	t := b.index[tid]
	if t == nil {
		t = &profileThread{tid: tid, index: map[profileKey]int{}}
		b.index[tid] = t
		b.order = append(b.order, t)
	}
	t.bytes += size
	for at := off + blockHead; at < off+size; {
		n, what := b.record(t, data[at:off+size], at)
		if what != "" {
			b.damage(at, off+size-at, what)
			break
		}
		at += n
	}
	return off + size
}

// record adds the first record of data to a thread, and returns its length, or what is wrong with it.
func (b *profileBuilder) record(t *profileThread, data []byte, off int64) (n int64, what string) {
	c := bytecur.New(data, off)
	var path []calllog.FuncID // innermost first
	for {
		id := c.U32()
		if c.Err() != nil {
			return 0, "a stack without an end"
		}
		if id == 0 {
			break
		}
		if path = append(path, calllog.FuncID(id)); len(path) > maxProfileDepth {
			return 0, fmt.Sprintf("a stack of more than %d functions", maxProfileDepth)
		}
	}
	calls, self := c.U64(), c.U64()
	const most = 1 << 60
	switch {
	case c.Err() != nil:
		return 0, "a record that is cut off"
	case len(path) == 0:
		return 0, "a stack without functions"
	case calls > most || self > most:
		return 0, "counters that cannot be"
	}
	at := -1
	for i := len(path) - 1; i >= 0; i-- {
		key := profileKey{at, path[i]}
		next, ok := t.index[key]
		if !ok {
			if b.total++; b.total > maxProfileNodes {
				return 0, fmt.Sprintf("more than %d stacks", maxProfileNodes)
			}
			next = len(t.nodes)
			t.index[key] = next
			t.nodes = append(t.nodes, calllog.StackNode{Parent: at, Offset: off, Func: path[i]})
		}
		at = next
		node := &t.nodes[at]
		node.Total = saturate.Add(node.Total, self)
	}
	t.nodes[at].Calls = saturate.Add(t.nodes[at].Calls, calls)
	return int64(len(data) - c.Len()), ""
}

func (b *profileBuilder) finish() {
	for _, t := range b.order {
		b.threads = append(b.threads, calllog.Thread{PID: b.pid, TID: t.tid, Parts: 1, Bytes: t.bytes})
		b.nodes = append(b.nodes, t.nodes)
	}
}

// Nodes implements calllog.Sums.
func (p *Profile) Nodes(thread int) []calllog.StackNode { return p.nodes[thread] }

// Has implements calllog.Sums.
func (p *Profile) Has() (times, longest bool) { return true, false }

// Info implements calllog.Log.
func (p *Profile) Info() *calllog.Info { return &p.info }

// Threads implements calllog.Log.
func (p *Profile) Threads() []calllog.Thread { return p.threads }

// Batches implements calllog.Log.
func (p *Profile) Batches(int, int, int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		yield(nil, fmt.Errorf("%s: a profile of XRay has only sums: record single calls with xray_mode=xray-basic", p.info.File))
	}
}

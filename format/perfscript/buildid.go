package perfscript

import (
	"bytes"

	"github.com/cairnprof/cairn/sample"
)

// An address may have the build id of its file before it, as llvm-profgen reads them: aabbccdd:0x4005c8. It is a
// link-time address. Samples have it in an address space of the reader's own, in which each build id has a slot of
// 2^linkBits bytes, and where its file is mapped. No process has such addresses.
const (
	linkBits    = 40
	linkSpace   = 1 << 60
	maxBuildIDs = 1 << 13
	nowhere     = linkSpace | (maxBuildIDs << linkBits) // is never mapped
)

// What can be wrong with such an address.
const (
	badLink      = "an address after a build id exceeds 40 bits and has no file"
	manyBuildIDs = "there are more than 8192 build ids: addresses of the others have no file"
)

// BuildIDPrefix begins the paths of mappings of files of which only the build id is known.
const BuildIDPrefix = "buildid:"

// idLength returns the length of the build id and colon at the start of s, 0 if there are none.
func idLength(s []byte) int {
	const least, most = 8, 128 // digits, two for each byte
	n := 0
	for n < len(s) && n <= most && digits[s[n]] != noDigit {
		n++
	}
	if n < least || n > most || n%2 != 0 || n == len(s) || s[n] != ':' {
		return 0
	}
	return n + 1
}

// idAddress parses an address after a build id, with or without 0x. It returns the length of all of it, 0 if it is
// something else.
func idAddress(s []byte) (id []byte, addr uint64, size int) {
	at := idLength(s)
	if at == 0 {
		return nil, 0, 0
	}
	addr, n := prefixedHex(s[at:])
	if n == 0 {
		addr, n = hex(s[at:])
	}
	if n == 0 {
		return nil, 0, 0
	}
	return s[:at-1], addr, at + n
}

// place returns the address of the space of a sample for one of the text, after id if that is not nil.
func (p *parser) place(id []byte, addr uint64) uint64 {
	switch {
	case id == nil && addr>>60 == linkSpace>>60:
		return nowhere // of no process
	case id == nil:
		return addr
	case addr>>linkBits != 0:
		p.bad(badLink)
		return nowhere
	}
	slot, ok := p.slots[string(id)]
	if !ok {
		if len(p.ids) == maxBuildIDs {
			p.bad(manyBuildIDs)
			return nowhere
		}
		if p.slots == nil {
			p.slots = map[string]uint64{}
		}
		slot = uint64(len(p.ids))
		p.slots[string(id)] = slot
		p.ids = append(p.ids, string(bytes.ToLower(id)))
	}
	return linkSpace | slot<<linkBits | addr
}

// links are the slots of build ids in all of a text.
type links struct {
	slots map[string]uint64
}

// adopt gives the addresses of a block, which counted build ids on its own, the slots of the text, and maps the files
// that are new.
func (l *links) adopt(b *block) {
	if len(b.ids) == 0 {
		return
	}
	if l.slots == nil {
		l.slots = map[string]uint64{}
	}
	var events []sample.Event
	moved := make([]uint64, len(b.ids))
	same := true
	for local, id := range b.ids {
		slot, ok := l.slots[id]
		switch {
		case ok:
		case len(l.slots) == maxBuildIDs:
			slot = maxBuildIDs
			b.damage(manyBuildIDs, 1, 0)
		default:
			slot = uint64(len(l.slots))
			l.slots[id] = slot
			events = append(events, sample.Event{Kind: sample.Map, PID: sample.UnknownPID, TID: sample.UnknownPID, Mapping: sample.Mapping{
				Start: linkSpace | slot<<linkBits, Size: 1 << linkBits, Path: BuildIDPrefix + id, BuildID: id, Exec: true, Linked: true,
			}})
		}
		moved[local] = slot
		same = same && slot == uint64(local)
	}
	if len(b.batches) > 0 {
		b.batches[0].Events = append(events, b.batches[0].Events...)
	}
	if !same {
		b.move(moved)
	}
}

// move changes the slots of all addresses.
func (b *block) move(slots []uint64) {
	moved := func(addr uint64) uint64 {
		if local := addr >> linkBits & maxSlot; addr>>60 == linkSpace>>60 && local < uint64(len(slots)) {
			return addr&^(maxSlot<<linkBits) | slots[local]<<linkBits
		}
		return addr
	}
	for _, batch := range b.batches {
		for i := range batch.Samples {
			s := &batch.Samples[i]
			for j := range s.Stack {
				s.Stack[j] = moved(s.Stack[j])
			}
			for j := range s.Branches {
				x := &s.Branches[j]
				x.From, x.To = moved(x.From), moved(x.To)
			}
		}
	}
}

// maxSlot is the mask of the bits of a slot.
const maxSlot = 1<<(60-linkBits) - 1

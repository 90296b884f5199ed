// Package armspe decodes what Arm's Statistical Profiling Extension writes: a record for each sampled
// operation, as a sequence of packets. The form is that of the Arm Architecture Reference Manual,
// chapter D17, "The Statistical Profiling Extension Sample Record Specification".
//
//	header (1 byte, 2 if extended) | payload of 1, 2, 4 or 8 bytes
//
// A record ends with a packet of kind End, or with one of kind Timestamp.
package armspe

import "encoding/binary"

// Kind is what a packet holds.
type Kind uint8

// The kinds of packets.
const (
	Bad       Kind = iota // not a packet
	Pad                   // nothing
	End                   // the end of a record without a time
	Timestamp             // the time of the record, which ends it
	Address               // see Index
	Counter               // cycles that the operation took
	Context               // the number of the thread, from CONTEXTIDR
	Operation             // the class of the operation, see Index
	Events                // what happened, as bits
	Source                // where loaded data came from
)

// Values of Index in packets of kind Address.
const (
	Instruction = 0 // the address of the operation
	Target      = 1 // of a branch
	Previous    = 4 // the target of the branch that was taken before
)

// Branch is the Index of an Operation that is a branch, an exception return included.
const Branch = 2

// Bits of the payload of Events.
const (
	NotTaken     = 1 << 6
	Mispredicted = 1 << 7
)

// Packet is a packet.
type Packet struct {
	Kind    Kind
	Index   uint8  // of Address, Counter, Context and Operation
	Payload uint64 // its bytes, the lowest first
	Size    int    // bytes, with the header
}

// Parse returns the packet at the beginning of b, which is at the offset at of the buffer that the
// processor wrote to. It has kind Bad and the size 1 if b begins with no packet. ok is false if b
// ends before the packet does, which can only be if b has less than MaxSize bytes. The size of a Pad,
// which aligns what follows, may exceed b.
func Parse(b []byte, at uint64) (p Packet, ok bool) {
	if len(b) == 0 {
		return Packet{}, false
	}
	first, head, header := b[0], b[0], 1
	switch {
	case first == 0:
		return Packet{Kind: Pad, Size: 1}, true
	case first == 1:
		return Packet{Kind: End, Size: 1}, true
	case first&^3 == 0x20: // the header has two bytes
		if len(b) < 2 {
			return Packet{}, false
		}
		head, header = b[1], 2
		if head == 0 {
			unit := uint64(2) << (first & 0xf)
			return Packet{Kind: Pad, Size: int(unit - at&(unit-1))}, true
		}
	}
	p.Kind, p.Index = kindOf(head, header == 2)
	if p.Kind == Bad {
		return Packet{Kind: Bad, Size: 1}, true
	}
	if header == 2 {
		p.Index |= first & 3 << 3
	}
	payload := 1 << (head >> 4 & 3)
	p.Size = header + payload
	if len(b) < p.Size {
		return Packet{}, false
	}
	var full [8]byte
	copy(full[:], b[header:p.Size])
	p.Payload = binary.LittleEndian.Uint64(full[:])
	return p, true
}

// MaxSize is the size of the longest packet that is no Pad.
const MaxSize = 10

// kindOf returns the kind of a packet from its header byte, and the index in it.
func kindOf(head byte, extended bool) (Kind, uint8) {
	switch {
	case head&^7 == 0xb0:
		return Address, head & 7
	case head&^7 == 0x98:
		return Counter, head & 7
	case extended:
		return Bad, 0
	case head == 0x71:
		return Timestamp, 0
	case head&0xcf == 0x42:
		return Events, 0
	case head&0xcf == 0x43:
		return Source, 0
	case head&^3 == 0x64:
		return Context, head & 3
	case head&^3 == 0x48:
		return Operation, head & 3
	}
	return Bad, 0
}

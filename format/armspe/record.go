package armspe

// Record is a sampled operation.
type Record struct {
	IsBranch     bool
	NotTaken     bool // a conditional branch that was not taken; its Target is what follows it
	Mispredicted bool
	Address      uint64 // of the operation
	Target       uint64 // of the branch
	Previous     uint64 // the target of the branch that was taken before, 0 if the processor does not say
	Time         uint64 // of the generic timer, 0 if it is not recorded
	Context      uint64 // the thread, if HasContext
	HasContext   bool
}

// Decoder puts packets together to records. The zero value is at the beginning of a record.
type Decoder struct {
	record  Record
	begun   bool // the record has a packet
	damaged bool // the record had something that is no packet
}

// Begun reports whether packets of a record were added and its end was not.
func (d *Decoder) Begun() bool { return d.begun }

// Damaged reports whether the record that has begun will be left out, because it had something that is
// no packet.
func (d *Decoder) Damaged() bool { return d.damaged }

// Add takes a packet. It returns the record that the packet ends, if it is whole.
func (d *Decoder) Add(p Packet) (r Record, ok bool) {
	d.begun = d.begun || p.Kind != Pad
	switch p.Kind {
	case Bad:
		d.damaged = true
	case Timestamp, End:
		if p.Kind == Timestamp {
			d.record.Time = p.Payload
		}
		r, ok = d.record, !d.damaged
		*d = Decoder{}
		return r, ok
	case Context:
		d.record.Context, d.record.HasContext = p.Payload, true
	case Operation:
		d.record.IsBranch = p.Index == Branch
	case Events:
		d.record.NotTaken = p.Payload&NotTaken != 0
		d.record.Mispredicted = p.Payload&Mispredicted != 0
	case Address:
		d.address(p.Index, p.Payload)
	case Pad, Counter, Source:
	}
	return Record{}, false
}

func (d *Decoder) address(index uint8, payload uint64) {
	switch index {
	case Instruction:
		d.record.Address = codeAddress(payload)
	case Target:
		d.record.Target = codeAddress(payload)
	case Previous:
		d.record.Previous = codeAddress(payload)
	}
}

// codeAddress returns the address in a payload. Its highest byte has the level of the exception
// model and the security state in its place; addresses of a kernel, which is at level 1 or 2, have
// ones there.
func codeAddress(payload uint64) uint64 {
	const (
		high      = 0xff << 56
		nonSecure = 1 << 63
	)
	level := payload >> 61 & 3
	if payload&nonSecure != 0 && (level == 1 || level == 2) {
		return payload | high
	}
	return payload &^ high
}

package armspe

// Record is a sampled operation.
type Record struct {
	IsBranch     bool
	NotTaken     bool // a conditional branch that was not taken; its Target is the next instruction
	Mispredicted bool
	Address      uint64 // of the operation
	Target       uint64 // of the branch
	Previous     uint64 // the target of the branch that was taken before, 0 if the processor does not say
	Time         uint64 // of the generic timer, 0 if it is not recorded
	Context      uint64 // the thread, if HasContext
	HasContext   bool
}

// Decoder assembles packets into records. The zero value is at the beginning of a record.
type Decoder struct {
	record  Record
	begun   bool // the record has a packet
	damaged bool // the record contained an invalid packet
}

// Begun reports whether packets of a record were added but not its end.
func (d *Decoder) Begun() bool { return d.begun }

// Damaged reports whether the current record will be left out, because it contained an invalid packet.
func (d *Decoder) Damaged() bool { return d.damaged }

// Add adds a packet. It returns the record that the packet ends, if the record is complete.
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

// codeAddress returns the address in a payload. Its highest byte is replaced by the exception level and the
// security state; in addresses of a kernel, at level 1 or 2, it must be all ones.
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

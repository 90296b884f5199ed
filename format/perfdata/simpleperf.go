package perfdata

import (
	"bytes"
	"strconv"
	"strings"
)

// What simpleperf of Android adds to the format (record_file_format.h and record.h of simpleperf): features, and records
// of its own.
const (
	featureMetaInfo = 129 // keys and values, each ended by a zero
	featureInitMap  = 134 // records of what was mapped when recording of all processes began
	recordEventID   = 32768 + 6
)

// ofSimpleperf reports whether simpleperf recorded the file.
func (p *Reader) ofSimpleperf() bool { return len(p.others) > 0 }

// metaInfo names the events as simpleperf does: it writes no descriptions of events, but lines with the name, the type
// and the number of each.
func (p *Reader) metaInfo(data []byte) {
	for len(data) > 0 {
		var key, value []byte
		key, data, _ = bytes.Cut(data, []byte{0})
		value, data, _ = bytes.Cut(data, []byte{0})
		if string(key) != "event_type_info" {
			continue
		}
		for line := range strings.SplitSeq(string(value), "\n") {
			p.nameEvents(line)
		}
	}
}

// nameEvents gives the events that a line is of its name, with the modifier of what was not counted.
func (p *Reader) nameEvents(line string) {
	const noUser, noKernel = 1 << 4, 1 << 5
	parts := strings.Split(line, ",")
	if len(parts) < 3 {
		return
	}
	n := len(parts) - 2 // names of raw events may have commas
	kind, err1 := strconv.ParseUint(parts[n], 10, 32)
	config, err2 := strconv.ParseUint(parts[n+1], 10, 64)
	if err1 != nil || err2 != nil {
		return
	}
	for i := range p.attrs {
		a := &p.attrs[i]
		if a.name != "" || a.kind != kind || a.config != config {
			continue
		}
		a.name = strings.Join(parts[:n], ",")
		switch a.flags & (noUser | noKernel) {
		case noUser:
			a.name += ":k"
		case noKernel:
			a.name += ":u"
		}
	}
}

// eventIDs adds the ids that simpleperf merge lists in a record.
func (p *Reader) eventIDs(body []byte) {
	f := fields{data: body, big: p.big}
	for n := f.u64(); n > 0; n-- {
		event, id := f.u64(), f.u64()
		if f.short || len(p.ids) >= maxIDs {
			return
		}
		if event < uint64(len(p.attrs)) {
			p.ids[id] = uint16(event)
		}
	}
}

// initialMaps reads what was mapped before the first record.
func (s *session) initialMaps() error {
	data, err := s.Feature(featureInitMap)
	if err != nil || len(data) == 0 {
		return err
	}
	unpacker, unpacked := s.unpacker, s.unpacked
	s.unpacker, s.unpacked = nil, nil // it is a stream of its own
	defer func() {
		if s.unpacker != nil {
			s.unpacker.stop()
		}
		s.unpacker, s.unpacked = unpacker, unpacked
	}()
	for len(data) >= recordHeader {
		kind, _, size := header(data, s.big)
		if size < recordHeader || int(size) > len(data) {
			break
		}
		r := record{data: data[:size], offset: s.in.pos}
		switch {
		case kind == recordCompressed:
			if err := s.unpack(r.body(), r.offset); err != nil {
				s.bad(err.Error(), r.offset)
				return nil
			}
		case kind < recordKernelEnd:
			s.queue(r)
		}
		data = data[size:]
	}
	if len(data) > 0 {
		s.bad("the files that were mapped first are damaged: code in others is unknown", s.in.pos)
	}
	return nil
}

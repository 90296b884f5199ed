package perfdata

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
)

// maxSection bounds the parts of a header that are read as a whole.
const maxSection = 64 << 20

// section is a part of the file.
type section struct{ offset, size uint64 }

func readSection(f *fields) section { return section{f.u64(), f.u64()} }

// load reads a part of the file.
func (s section) load(r io.ReaderAt, size int64, what string) ([]byte, error) {
	if s.offset > uint64(size) || s.size > uint64(size)-s.offset {
		return nil, fmt.Errorf("%s are after the end of the file: the file is truncated, or perf record did not end normally", what)
	}
	if s.size > maxSection {
		return nil, fmt.Errorf("%s take %d bytes, at most %d are read", what, s.size, maxSection)
	}
	data := make([]byte, s.size)
	if _, err := r.ReadAt(data, int64(s.offset)); err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading: %w", err)
	}
	return data, nil
}

// fileHeader reads the header of a file that is no pipe.
func (p *Reader) fileHeader(r io.ReaderAt, size int64, head []byte) error {
	f := fields{data: head[len(magic)+8:], big: p.big}
	entrySize := f.u64()
	attrs, data := readSection(&f), readSection(&f)
	readSection(&f) // types of events, which perf has not written for long
	var set [features / 64]uint64
	for i := range set {
		set[i] = f.u64()
	}
	if data.offset > uint64(size) || data.size > uint64(size)-data.offset {
		p.info.Notes = append(p.info.Notes, "the file is truncated: using what is there")
		data.offset = min(data.offset, uint64(size))
		data.size = uint64(size) - data.offset
		set = [features / 64]uint64{} // they come after the data
	}
	if data.size == 0 && data.offset < uint64(size) {
		p.info.Notes = append(p.info.Notes, "perf record did not end normally: using what it had written")
		data.size = uint64(size) - data.offset
		set = [features / 64]uint64{}
	}
	if err := p.attributes(r, size, attrs, entrySize); err != nil {
		return err
	}
	p.in = input{file: r, pos: int64(data.offset), end: int64(data.offset + data.size), big: p.big}
	if err := p.allFeatures(r, size, data.offset+data.size, set); err != nil {
		p.info.Notes = append(p.info.Notes, err.Error())
	}
	return nil
}

// attributes reads the events.
func (p *Reader) attributes(r io.ReaderAt, size int64, all section, entrySize uint64) error {
	const idsSize = 16
	if entrySize < attrSmallest+idsSize || all.size%entrySize != 0 || all.size/entrySize > maxAttrs {
		return fmt.Errorf("invalid header: %d bytes of events with %d each", all.size, entrySize)
	}
	data, err := all.load(r, size, "the events")
	if err != nil {
		return err
	}
	for ; len(data) > 0; data = data[entrySize:] {
		f := fields{data: data[entrySize-idsSize : entrySize], big: p.big}
		where := readSection(&f)
		if where.size/8 > maxIDs {
			return fmt.Errorf("an event has %d ids, at most %d are read", where.size/8, maxIDs)
		}
		ids, err := where.load(r, size, "the ids of events")
		if err != nil {
			return err
		}
		p.addAttr(data[:entrySize-idsSize], ids)
	}
	return nil
}

// addAttr adds an event and its ids.
func (p *Reader) addAttr(data, ids []byte) {
	event := uint16(len(p.attrs))
	p.attrs = append(p.attrs, parseAttr(data, p.big))
	for ; len(ids) >= 8; ids = ids[8:] {
		p.ids[number64(ids, p.big)] = event
	}
}

// allFeatures reads the features of a file. Their places are after the data.
func (p *Reader) allFeatures(r io.ReaderAt, size int64, table uint64, set [features / 64]uint64) error {
	n := 0
	for _, word := range set {
		n += bits.OnesCount64(word)
	}
	const entry = 16
	data, err := section{table, uint64(n) * entry}.load(r, size, "the features")
	if err != nil {
		return err
	}
	f := fields{data: data, big: p.big}
	for feature := range features {
		if set[feature/64]>>(feature%64)&1 == 0 {
			continue
		}
		where := readSection(&f)
		if feature >= featurePerf {
			p.others[feature] = func() ([]byte, error) { return where.load(r, size, "the features") }
		}
		switch feature {
		case featureBuildID, featureHostname, featureCommand, featureEventDesc, featureMetaInfo:
			data, err := where.load(r, size, "the features")
			if err != nil {
				return err
			}
			p.feature(feature, data)
		}
	}
	return nil
}

// HasFeature reports whether a file of perf.data, no pipe, that begins with head has a feature.
func HasFeature(head []byte, feature int) bool {
	const set = 72 // offset of the bits
	at := set + feature/8
	return Detect(head) && string(head[:len(magic)]) == magic && len(head) > at && head[8] != pipeHeader && head[at]>>(feature%8)&1 != 0
}

// Feature returns a feature of another tool than perf, nil if the file does not have it.
func (p *Reader) Feature(feature int) ([]byte, error) {
	if load := p.others[feature]; load != nil {
		return load()
	}
	return nil, nil
}

// feature reads a feature. Incomplete entries are left out.
func (p *Reader) feature(feature int, data []byte) {
	f := fields{data: data, big: p.big}
	switch feature {
	case featureHostname:
		p.info.Host = f.sized()
	case featureCommand:
		var words []string
		for n := f.u32(); n > 0 && len(f.data) > 0; n-- {
			words = append(words, f.sized())
		}
		p.info.Command = strings.Join(words, " ")
	case featureBuildID:
		p.buildIDs(data)
	case featureEventDesc:
		p.eventNames(&f)
	case featureMetaInfo:
		p.metaInfo(data)
	}
}

// buildIDs reads the build ids of files, which are records without a type.
func (p *Reader) buildIDs(data []byte) {
	for len(data) >= recordHeader {
		_, misc, size := header(data, p.big)
		if size < recordHeader || int(size) > len(data) {
			return
		}
		p.addBuildID(misc, data[recordHeader:size])
		data = data[size:]
	}
}

func (p *Reader) addBuildID(misc uint16, body []byte) {
	if path, id := buildID(misc, body, p.big); path != "" && strings.Trim(id, "0") != "" {
		p.info.BuildIDs[path] = trimBuildID(misc, id)
	}
}

// trimBuildID drops the zeros after a build id whose length is not given.
func trimBuildID(misc uint16, id string) string {
	const short = 2 * 16 // digits; the usual ones have 20 bytes
	if misc&miscBuildIDSize == 0 && strings.Trim(id[min(short, len(id)):], "0") == "" {
		return id[:min(short, len(id))]
	}
	return id
}

// eventNames reads the names of the events.
func (p *Reader) eventNames(f *fields) {
	n, size := f.u32(), f.u32()
	for i := uint32(0); i < n && !f.short; i++ {
		f.next(uint64(size))
		ids := f.u32()
		name := f.sized()
		f.next(8 * uint64(ids))
		if int(i) < len(p.attrs) && !f.short {
			p.attrs[i].name = name
		}
	}
}

// describing handles a record of a pipe that corresponds to a part of the header.
func (p *Reader) describing(r record) error {
	kind, misc, _ := header(r.data, p.big)
	f := fields{data: r.body(), big: p.big}
	switch kind {
	case recordAttr:
		if len(r.body()) < attrSmallest || len(p.attrs) >= maxAttrs {
			return errors.New("an event in the header is truncated")
		}
		size := number32(r.body()[4:], p.big)
		if size < attrSmallest || uint64(size) > uint64(len(r.body())) {
			return fmt.Errorf("invalid header: an event of %d bytes", size)
		}
		p.addAttr(f.next(uint64(size)), f.data)
	case recordBuildID:
		p.addBuildID(misc, r.body())
	case recordFeature:
		if feature := f.u64(); feature < features {
			p.feature(int(feature), f.data)
		}
	case recordAuxTraceInfo, recordTimeConv:
		p.tracing(kind, r.body())
	case recordTracingData:
		if size := tracingDataSize(&f); size > int64(len(f.data)) { // simpleperf has it in the record
			p.in.skip(size)
		}
	}
	return nil
}

// tracingDataSize returns how many bytes follow a record of descriptions of tracepoints.
func tracingDataSize(f *fields) int64 {
	const align = 8
	return (int64(f.u32()) + align - 1) &^ (align - 1)
}

package pprof

import (
	"compress/gzip"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Write writes the profile, compressed with gzip.
func (p *Profile) Write(w io.Writer) error {
	z := gzip.NewWriter(w)
	if err := p.WriteUncompressed(z); err != nil {
		z.Close()
		return err
	}
	return z.Close()
}

// WriteUncompressed writes the profile.
func (p *Profile) WriteUncompressed(w io.Writer) error {
	e := encoder{numbers: map[string]uint64{"": 0}, table: []string{""}}
	_, err := w.Write(e.profile(p))
	return err
}

// message is an encoded message.
type message []byte

// number adds a number that is not 0.
func (m *message) number(field protowire.Number, v uint64) {
	if v != 0 {
		m.zero(field, v)
	}
}

// zero is number for any.
func (m *message) zero(field protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

func (m *message) yes(field protowire.Number, v bool) {
	if v {
		m.number(field, 1)
	}
}

func (m *message) bytes(field protowire.Number, data []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), data)
}

// list adds numbers, in one piece if that is shorter.
func (m *message) list(field protowire.Number, list []uint64) {
	const apart = 2
	if len(list) <= apart {
		for _, v := range list {
			m.zero(field, v)
		}
		return
	}
	var packed message
	for _, v := range list {
		packed = protowire.AppendVarint(packed, v)
	}
	m.bytes(field, packed)
}

// encoder has the strings of a profile, in the order in which they are met.
type encoder struct {
	numbers map[string]uint64
	table   []string
}

func (e *encoder) text(s string) uint64 {
	n, ok := e.numbers[s]
	if !ok {
		n = uint64(len(e.table))
		e.numbers[s] = n
		e.table = append(e.table, s)
	}
	return n
}

func (e *encoder) profile(p *Profile) (m message) {
	for _, t := range p.SampleType {
		m.bytes(1, e.valueType(t))
	}
	for _, s := range p.Sample {
		m.bytes(2, e.sample(s))
	}
	for _, x := range p.Mapping {
		m.bytes(3, e.mapping(x))
	}
	for _, l := range p.Location {
		m.bytes(4, location(l))
	}
	for _, f := range p.Function {
		m.bytes(5, e.function(f))
	}
	var period message
	if p.PeriodType != nil {
		period = e.valueType(p.PeriodType)
	}
	var comments []uint64
	for _, text := range p.Comments {
		comments = append(comments, e.text(text))
	}
	first := e.text(p.DefaultSampleType)
	for _, s := range e.table {
		m.bytes(6, []byte(s))
	}
	m.number(9, uint64(p.TimeNanos))
	m.number(10, uint64(p.DurationNanos))
	if len(period) > 0 {
		m.bytes(11, period)
	}
	m.number(12, uint64(p.Period))
	m.list(13, comments)
	m.zero(14, first)
	return m
}

func (e *encoder) valueType(t *ValueType) (m message) {
	m.number(1, e.text(t.Type))
	m.number(2, e.text(t.Unit))
	return m
}

func (e *encoder) sample(s *Sample) (m message) {
	ids, values := make([]uint64, len(s.Location)), make([]uint64, len(s.Value))
	for i, l := range s.Location {
		ids[i] = l.ID
	}
	for i, v := range s.Value {
		values[i] = uint64(v)
	}
	m.list(1, ids)
	m.list(2, values)
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		for _, v := range s.Label[key] {
			var label message
			label.number(1, e.text(key))
			label.number(2, e.text(v))
			m.bytes(3, label)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
		for i, v := range s.NumLabel[key] {
			var label message
			label.number(1, e.text(key))
			label.number(3, uint64(v))
			if units := s.NumUnit[key]; len(units) > 0 {
				label.number(4, e.text(units[i]))
			}
			m.bytes(3, label)
		}
	}
	return m
}

func (e *encoder) mapping(x *Mapping) (m message) {
	for i, v := range []uint64{x.ID, x.Start, x.Limit, x.Offset, e.text(x.File), e.text(x.BuildID)} {
		m.number(protowire.Number(i+1), v)
	}
	for i, v := range []bool{x.HasFunctions, x.HasFilenames, x.HasLineNumbers, x.HasInlineFrames} {
		m.yes(protowire.Number(i+7), v)
	}
	return m
}

func location(l *Location) (m message) {
	m.number(1, l.ID)
	if l.Mapping != nil {
		m.number(2, l.Mapping.ID)
	}
	m.number(3, l.Address)
	for _, at := range l.Line {
		var line message
		if at.Function != nil {
			line.number(1, at.Function.ID)
		}
		line.number(2, uint64(at.Line))
		line.number(3, uint64(at.Column))
		m.bytes(4, line)
	}
	return m
}

func (e *encoder) function(f *Function) (m message) {
	for i, v := range []uint64{f.ID, e.text(f.Name), e.text(f.SystemName), e.text(f.Filename), uint64(f.StartLine)} {
		m.number(protowire.Number(i+1), v)
	}
	return m
}

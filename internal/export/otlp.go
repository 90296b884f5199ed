package export

import (
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/cairnprof/cairn/format/pprof"
)

// Resource identifies the program in a profile of OpenTelemetry.
type Resource struct {
	Service string // name of the program, as backends list it
	BuildID string // in hexadecimal, "" if not known
	Writer  string // of the profile: "cairn", with the version
}

// WriteOTLP writes a profile as OTLP encodes it.
func WriteOTLP(w io.Writer, p *pprof.Profile, about Resource) error {
	_, err := w.Write(OTLP(p, about))
	return err
}

// OTLP encodes a profile as a message ProfilesData of OpenTelemetry, with one profile for each
// sample type, the default type first. An ExportProfilesServiceRequest has the same encoding.
//
// The numbers of fields are those of opentelemetry/proto/profiles/v1development/profiles.proto and of the files that it
// imports, version 1.11.
func OTLP(p *pprof.Profile, about Resource) []byte {
	b := newOTLPBuilder()
	var scope message
	scope.bytes(1, message(nil).with(1, valid(about.Writer)))
	for _, i := range defaultFirst(p) {
		scope.bytes(2, b.profile(p, i))
	}
	var resource, profiles, data message
	resource.bytes(1, keyValue(attributeService, about.Service))
	if about.BuildID != "" {
		resource.bytes(1, keyValue(attributeBuildID, about.BuildID))
	}
	profiles.bytes(1, resource)
	profiles.bytes(2, scope)
	data.bytes(1, profiles)
	data.bytes(2, b.dictionary())
	return data
}

// message is a message of protocol buffers that is being encoded. Fields are added in the order of their numbers; numbers
// and text that are the default are left out, as in proto3.
type message []byte

func (m *message) varint(field protowire.Number, v uint64) {
	if v != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
	}
}

// bytes adds bytes or a message, also an empty one.
func (m *message) bytes(field protowire.Number, data []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), data)
}

// with returns the message with a text.
func (m message) with(field protowire.Number, text string) message {
	if text != "" {
		m = protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), text)
	}
	return m
}

// packed adds a list of numbers.
func (m *message) packed(field protowire.Number, list []int32) {
	if len(list) == 0 {
		return
	}
	var data []byte
	for _, n := range list {
		data = protowire.AppendVarint(data, uint64(n))
	}
	m.bytes(field, data)
}

// valid returns a text that protocol buffers take: they take only valid UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "?") }

// Attributes that OpenTelemetry's semantic conventions name.
const (
	attributeService = "service.name"
	attributeBuildID = "process.executable.build_id.gnu"
	attributeThread  = "thread.id"
	attributeProcess = "process.pid"
	attributeComment = "pprof.profile.comment"
)

// keyValue returns a KeyValue.
func keyValue(key, value string) message {
	m := message(nil).with(1, key)
	m.bytes(2, stringValue(value))
	return m
}

// stringValue, intValue and listValue return an AnyValue. One of its fields is there, whatever its value.
func stringValue(s string) (m message) {
	m.bytes(1, []byte(valid(s)))
	return m
}

func intValue(n int64) message {
	return protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(n))
}

func listValue(texts []string) (m message) {
	var list message
	for _, text := range texts {
		list.bytes(1, stringValue(text))
	}
	m.bytes(5, list)
	return m
}

// defaultFirst returns the indexes of the sample types of p. Viewers show the first profile.
func defaultFirst(p *pprof.Profile) []int {
	var list []int
	for i, t := range p.SampleType {
		if t.Type == p.DefaultSampleType {
			list = slices.Insert(list, 0, i)
		} else {
			list = append(list, i)
		}
	}
	return list
}

// The tables of a ProfilesDictionary, by the numbers of their fields.
const (
	mappingTable = 1 + iota
	locationTable
	functionTable
	linkTable
	stringTable
	attributeTable
	stackTable
	tables
)

// otlpBuilder fills the tables of a dictionary. Entry 0 of each is the zero value, which means none.
type otlpBuilder struct {
	tables [tables][]message
	// Numbers of entries that are the same for the same bytes: of strings, attributes and stacks.
	known     [tables]map[string]int32
	functions map[*pprof.Function]int32
	mappings  map[*pprof.Mapping]int32
	locations map[*pprof.Location]int32
	indexes   []int32 // reused
}

func newOTLPBuilder() *otlpBuilder {
	b := &otlpBuilder{
		functions: make(map[*pprof.Function]int32), mappings: make(map[*pprof.Mapping]int32), locations: make(map[*pprof.Location]int32),
	}
	for table := mappingTable; table < tables; table++ {
		b.tables[table] = []message{{}}
	}
	const traceID, spanID = 16, 8
	b.tables[linkTable][0].bytes(1, make([]byte, traceID))
	b.tables[linkTable][0].bytes(2, make([]byte, spanID))
	for _, table := range []int{stringTable, attributeTable, stackTable} {
		b.known[table] = map[string]int32{"": 0}
	}
	return b
}

func (b *otlpBuilder) dictionary() (m message) {
	for table := mappingTable; table < tables; table++ {
		for _, entry := range b.tables[table] {
			m.bytes(protowire.Number(table), entry)
		}
	}
	return m
}

// add adds an entry to a table and returns its number.
func (b *otlpBuilder) add(table int, entry message) int32 {
	b.tables[table] = append(b.tables[table], entry)
	return int32(len(b.tables[table]) - 1)
}

// number returns the number of an entry, which is added if it is not there.
func (b *otlpBuilder) number(table int, entry message) int32 {
	n, ok := b.known[table][string(entry)]
	if !ok {
		n = b.add(table, entry)
		b.known[table][string(entry)] = n
	}
	return n
}

// text returns the number of a string, as the value of a field.
func (b *otlpBuilder) text(s string) uint64 { return uint64(b.number(stringTable, message(valid(s)))) }

// attribute returns the number of an attribute, a KeyValueAndUnit.
func (b *otlpBuilder) attribute(key string, value message, unit string) int32 {
	var m message
	m.varint(1, b.text(key))
	m.bytes(2, value)
	m.varint(3, b.text(unit))
	return b.number(attributeTable, m)
}

// profile returns the Profile of the values with index i.
func (b *otlpBuilder) profile(p *pprof.Profile, i int) (m message) {
	t := p.SampleType[i]
	var kind message
	kind.varint(1, b.text(t.Type))
	kind.varint(2, b.text(t.Unit))
	m.bytes(1, kind)
	for _, s := range b.samples(p, i) {
		m.bytes(2, s.encode())
	}
	if p.TimeNanos > 0 {
		m = protowire.AppendFixed64(protowire.AppendTag(m, 3, protowire.Fixed64Type), uint64(p.TimeNanos))
	}
	m.varint(4, uint64(max(p.DurationNanos, 0)))
	if len(p.Comments) > 0 {
		m.packed(11, []int32{b.attribute(attributeComment, listValue(p.Comments), "")})
	}
	return m
}

// otlpSample is a Sample.
type otlpSample struct {
	stack int32
	attrs []int32
	value int64
}

func (s *otlpSample) encode() (m message) {
	m.varint(1, uint64(s.stack))
	m.packed(2, s.attrs)
	m.bytes(4, protowire.AppendVarint(nil, uint64(s.value)))
	return m
}

// samples returns the values with index i. Samples with the same stack and attributes become one.
func (b *otlpBuilder) samples(p *pprof.Profile, i int) (list []*otlpSample) {
	type identity struct {
		stack int32
		attrs string
	}
	known := make(map[identity]*otlpSample)
	for _, s := range p.Sample {
		if s.Value[i] == 0 {
			continue
		}
		sample := &otlpSample{stack: b.stack(s.Location), attrs: b.labels(s), value: s.Value[i]}
		var attrs message
		attrs.packed(1, sample.attrs)
		id := identity{sample.stack, string(attrs)}
		if same := known[id]; same != nil {
			same.value += s.Value[i]
			continue
		}
		known[id] = sample
		list = append(list, sample)
	}
	return list
}

// labels returns the attributes of a sample.
func (b *otlpBuilder) labels(s *pprof.Sample) []int32 {
	var list []int32
	for _, key := range slices.Sorted(maps.Keys(s.Label)) {
		v := listValue(s.Label[key])
		if len(s.Label[key]) == 1 {
			v = stringValue(s.Label[key][0])
		}
		list = append(list, b.attribute(key, v, ""))
	}
	for _, key := range slices.Sorted(maps.Keys(s.NumLabel)) {
		name, unit := key, ""
		switch key {
		case "thread":
			name = attributeThread
		case "process":
			name = attributeProcess
		}
		if units := s.NumUnit[key]; len(units) > 0 {
			unit = units[0]
		}
		if len(s.NumLabel[key]) > 0 {
			list = append(list, b.attribute(name, intValue(s.NumLabel[key][0]), unit))
		}
	}
	return list
}

// stack returns the number of a stack, innermost frame first.
func (b *otlpBuilder) stack(locations []*pprof.Location) int32 {
	b.indexes = b.indexes[:0]
	for _, l := range locations {
		b.indexes = append(b.indexes, b.location(l))
	}
	var m message
	m.packed(1, b.indexes)
	return b.number(stackTable, m)
}

func (b *otlpBuilder) location(l *pprof.Location) int32 {
	n, ok := b.locations[l]
	if ok {
		return n
	}
	var m message
	m.varint(1, uint64(b.mapping(l.Mapping)))
	m.varint(2, l.Address)
	for _, line := range l.Line {
		var place message
		place.varint(1, uint64(b.function(line.Function)))
		place.varint(2, uint64(line.Line))
		place.varint(3, uint64(line.Column))
		m.bytes(3, place)
	}
	n = b.add(locationTable, m)
	b.locations[l] = n
	return n
}

func (b *otlpBuilder) function(f *pprof.Function) int32 {
	if f == nil {
		return 0
	}
	n, ok := b.functions[f]
	if !ok {
		var m message
		m.varint(1, b.text(f.Name))
		m.varint(2, b.text(f.SystemName))
		m.varint(3, b.text(f.Filename))
		m.varint(4, uint64(f.StartLine))
		n = b.add(functionTable, m)
		b.functions[f] = n
	}
	return n
}

func (b *otlpBuilder) mapping(from *pprof.Mapping) int32 {
	if from == nil {
		return 0
	}
	n, ok := b.mappings[from]
	if !ok {
		var m message
		m.varint(1, from.Start)
		m.varint(2, from.Limit)
		m.varint(3, from.Offset)
		m.varint(4, b.text(from.File))
		if from.BuildID != "" {
			m.packed(5, []int32{b.attribute(attributeBuildID, stringValue(from.BuildID), "")})
		}
		n = b.add(mappingTable, m)
		b.mappings[from] = n
	}
	return n
}

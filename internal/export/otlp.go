package export

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// Resource identifies the program in a profile of OpenTelemetry.
type Resource struct {
	Service string // name of the program, as backends list it
	BuildID string // in hexadecimal, "" if not known
	Writer  string // of the profile: "cairn", with the version
}

// WriteOTLP writes a profile as OTLP encodes it.
func WriteOTLP(w io.Writer, p *profile.Profile, about Resource) error {
	data, err := OTLP(p, about)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// OTLP encodes a profile as a message ProfilesData of OpenTelemetry, with one profile for each
// sample type, the default type first. An ExportProfilesServiceRequest has the same encoding.
func OTLP(p *profile.Profile, about Resource) ([]byte, error) {
	b := newOTLPBuilder()
	scope := &otlp.ScopeProfiles{Scope: &common.InstrumentationScope{Name: about.Writer}}
	for _, i := range defaultFirst(p) {
		scope.Profiles = append(scope.Profiles, b.profile(p, i))
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&otlp.ProfilesData{
		ResourceProfiles: []*otlp.ResourceProfiles{{
			Resource:      &resource.Resource{Attributes: about.attributes()},
			ScopeProfiles: []*otlp.ScopeProfiles{scope},
		}},
		Dictionary: b.d,
	})
}

// Attributes that OpenTelemetry's semantic conventions name.
const (
	attributeService = "service.name"
	attributeBuildID = "process.executable.build_id.gnu"
	attributeThread  = "thread.id"
	attributeProcess = "process.pid"
	attributeComment = "pprof.profile.comment"
)

func (r Resource) attributes() []*common.KeyValue {
	list := []*common.KeyValue{{Key: attributeService, Value: stringValue(r.Service)}}
	if r.BuildID != "" {
		list = append(list, &common.KeyValue{Key: attributeBuildID, Value: stringValue(r.BuildID)})
	}
	return list
}

func stringValue(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(s, "?")}}
}

func intValue(n int64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
}

func listValue(texts []string) *common.AnyValue {
	list := new(common.ArrayValue)
	for _, text := range texts {
		list.Values = append(list.Values, stringValue(text))
	}
	return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
}

// defaultFirst returns the indexes of the sample types of p. Viewers show the first profile.
func defaultFirst(p *profile.Profile) []int {
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

// otlpBuilder fills the tables of a dictionary. Entry 0 of each is the zero value, which means none.
type otlpBuilder struct {
	d         *otlp.ProfilesDictionary
	strings   map[string]int32
	attrs     map[string]int32
	stacks    map[string]int32
	functions map[*profile.Function]int32
	mappings  map[*profile.Mapping]int32
	locations map[*profile.Location]int32
	indexes   []int32 // reused
}

func newOTLPBuilder() *otlpBuilder {
	const traceID, spanID = 16, 8
	return &otlpBuilder{
		d: &otlp.ProfilesDictionary{
			MappingTable: []*otlp.Mapping{{}}, LocationTable: []*otlp.Location{{}}, FunctionTable: []*otlp.Function{{}},
			LinkTable:   []*otlp.Link{{TraceId: make([]byte, traceID), SpanId: make([]byte, spanID)}},
			StringTable: []string{""}, AttributeTable: []*otlp.KeyValueAndUnit{{}}, StackTable: []*otlp.Stack{{}},
		},
		strings: map[string]int32{"": 0}, attrs: make(map[string]int32), stacks: map[string]int32{"": 0},
		functions: make(map[*profile.Function]int32), mappings: make(map[*profile.Mapping]int32),
		locations: make(map[*profile.Location]int32),
	}
}

// profile returns the profile of the values with index i.
func (b *otlpBuilder) profile(p *profile.Profile, i int) *otlp.Profile {
	t := p.SampleType[i]
	out := &otlp.Profile{
		SampleType:   &otlp.ValueType{TypeStrindex: b.text(t.Type), UnitStrindex: b.text(t.Unit)},
		TimeUnixNano: uint64(max(p.TimeNanos, 0)), DurationNano: uint64(max(p.DurationNanos, 0)),
	}
	if len(p.Comments) > 0 {
		out.AttributeIndices = []int32{b.attribute(attributeComment, listValue(p.Comments), "")}
	}
	type identity struct {
		stack int32
		attrs string
	}
	known := make(map[identity]*otlp.Sample) // samples with one identity become one sample
	for _, s := range p.Sample {
		if s.Value[i] == 0 {
			continue
		}
		id := identity{stack: b.stack(s.Location)}
		attrs := b.labels(s)
		id.attrs = string(indexBytes(attrs))
		if same := known[id]; same != nil {
			same.Values[0] += s.Value[i]
			continue
		}
		known[id] = &otlp.Sample{StackIndex: id.stack, AttributeIndices: attrs, Values: []int64{s.Value[i]}}
		out.Samples = append(out.Samples, known[id])
	}
	return out
}

// indexBytes returns indexes as the key of a map.
func indexBytes(indexes []int32) []byte {
	key := make([]byte, 0, 4*len(indexes))
	for _, n := range indexes {
		key = binary.LittleEndian.AppendUint32(key, uint32(n))
	}
	return key
}

// text returns the number of a string. Protocol buffers take only valid UTF-8.
func (b *otlpBuilder) text(s string) int32 {
	s = strings.ToValidUTF8(s, "?")
	n, ok := b.strings[s]
	if !ok {
		n = int32(len(b.d.StringTable))
		b.strings[s] = n
		b.d.StringTable = append(b.d.StringTable, s)
	}
	return n
}

// attribute returns the number of an attribute.
func (b *otlpBuilder) attribute(key string, v *common.AnyValue, unit string) int32 {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(v)
	if err != nil { // only text that is not UTF-8, which text has replaced
		return 0
	}
	id := fmt.Sprintf("%q %q %s", key, unit, value)
	n, ok := b.attrs[id]
	if !ok {
		n = int32(len(b.d.AttributeTable))
		b.attrs[id] = n
		b.d.AttributeTable = append(b.d.AttributeTable, &otlp.KeyValueAndUnit{KeyStrindex: b.text(key), Value: v, UnitStrindex: b.text(unit)})
	}
	return n
}

// labels returns the attributes of a sample.
func (b *otlpBuilder) labels(s *profile.Sample) []int32 {
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
func (b *otlpBuilder) stack(locations []*profile.Location) int32 {
	b.indexes = b.indexes[:0]
	for _, l := range locations {
		b.indexes = append(b.indexes, b.location(l))
	}
	id := string(indexBytes(b.indexes))
	n, ok := b.stacks[id]
	if !ok {
		n = int32(len(b.d.StackTable))
		b.stacks[id] = n
		b.d.StackTable = append(b.d.StackTable, &otlp.Stack{LocationIndices: slices.Clone(b.indexes)})
	}
	return n
}

func (b *otlpBuilder) location(l *profile.Location) int32 {
	if n, ok := b.locations[l]; ok {
		return n
	}
	out := &otlp.Location{MappingIndex: b.mapping(l.Mapping), Address: l.Address}
	for _, line := range l.Line {
		out.Lines = append(out.Lines, &otlp.Line{FunctionIndex: b.function(line.Function), Line: line.Line, Column: line.Column})
	}
	n := int32(len(b.d.LocationTable))
	b.locations[l] = n
	b.d.LocationTable = append(b.d.LocationTable, out)
	return n
}

func (b *otlpBuilder) function(f *profile.Function) int32 {
	if f == nil {
		return 0
	}
	n, ok := b.functions[f]
	if !ok {
		n = int32(len(b.d.FunctionTable))
		b.functions[f] = n
		b.d.FunctionTable = append(b.d.FunctionTable, &otlp.Function{
			NameStrindex: b.text(f.Name), SystemNameStrindex: b.text(f.SystemName), FilenameStrindex: b.text(f.Filename), StartLine: f.StartLine,
		})
	}
	return n
}

func (b *otlpBuilder) mapping(m *profile.Mapping) int32 {
	if m == nil {
		return 0
	}
	n, ok := b.mappings[m]
	if !ok {
		out := &otlp.Mapping{MemoryStart: m.Start, MemoryLimit: m.Limit, FileOffset: m.Offset, FilenameStrindex: b.text(m.File)}
		if m.BuildID != "" {
			out.AttributeIndices = []int32{b.attribute(attributeBuildID, stringValue(m.BuildID), "")}
		}
		n = int32(len(b.d.MappingTable))
		b.mappings[m] = n
		b.d.MappingTable = append(b.d.MappingTable, out)
	}
	return n
}

package export

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/format/pprof"
)

func decodeOTLP(t interface {
	Helper()
	Fatal(...any)
}, data []byte,
) *otlp.ProfilesData {
	t.Helper()
	out := new(otlp.ProfilesData)
	if err := proto.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	// The library writes the same bytes.
	if again, err := (proto.MarshalOptions{Deterministic: true}).Marshal(out); err != nil || !bytes.Equal(again, data) {
		t.Fatal("not the encoding of a library for protocol buffers", err)
	}
	return out
}

// pprofLines returns the samples of sample type i of a profile, each as its stack, its labels and its value,
// summed up by the first two.
func pprofLines(p *pprof.Profile, i int) []string {
	sums := make(map[string]int64)
	for _, s := range p.Sample {
		var b strings.Builder
		for _, l := range s.Location {
			fmt.Fprintf(&b, "%#x", l.Address)
			if l.Mapping != nil {
				fmt.Fprintf(&b, " in %s %s %#x..%#x+%#x", l.Mapping.File, l.Mapping.BuildID, l.Mapping.Start, l.Mapping.Limit, l.Mapping.Offset)
			}
			for _, line := range l.Line {
				fmt.Fprintf(&b, " %s/%s %s:%d:%d", line.Function.Name, line.Function.SystemName, line.Function.Filename, line.Function.StartLine, line.Line)
			}
			b.WriteByte(';')
		}
		var labels []string
		for k, v := range s.Label {
			labels = append(labels, k+"="+v[0])
		}
		for k, v := range s.NumLabel {
			k = map[string]string{"thread": "thread.id", "process": "process.pid"}[k]
			labels = append(labels, fmt.Sprintf("%s=%d", k, v[0]))
		}
		slices.Sort(labels)
		sums[b.String()+strings.Join(labels, ",")] += s.Value[i]
	}
	return sumLines(sums)
}

func sumLines(sums map[string]int64) (list []string) {
	for id, n := range sums {
		if n != 0 {
			list = append(list, fmt.Sprintf("%s %d", id, n))
		}
	}
	slices.Sort(list)
	return list
}

// otlpLines returns the same of a profile of OpenTelemetry.
func otlpLines(d *otlp.ProfilesDictionary, p *otlp.Profile) []string {
	text := func(i int32) string { return d.StringTable[i] }
	sums := make(map[string]int64)
	for _, s := range p.Samples {
		var b strings.Builder
		for _, n := range d.StackTable[s.StackIndex].LocationIndices {
			l := d.LocationTable[n]
			fmt.Fprintf(&b, "%#x", l.Address)
			if m := d.MappingTable[l.MappingIndex]; l.MappingIndex != 0 {
				id := ""
				if len(m.AttributeIndices) > 0 {
					id = d.AttributeTable[m.AttributeIndices[0]].Value.GetStringValue()
				}
				fmt.Fprintf(&b, " in %s %s %#x..%#x+%#x", text(m.FilenameStrindex), id, m.MemoryStart, m.MemoryLimit, m.FileOffset)
			}
			for _, line := range l.Lines {
				f := d.FunctionTable[line.FunctionIndex]
				fmt.Fprintf(&b, " %s/%s %s:%d:%d", text(f.NameStrindex), text(f.SystemNameStrindex), text(f.FilenameStrindex), f.StartLine, line.Line)
			}
			b.WriteByte(';')
		}
		var labels []string
		for _, n := range s.AttributeIndices {
			a := d.AttributeTable[n]
			value := a.Value.GetStringValue()
			if value == "" {
				value = fmt.Sprint(a.Value.GetIntValue())
			}
			labels = append(labels, text(a.KeyStrindex)+"="+value)
		}
		slices.Sort(labels)
		sums[b.String()+strings.Join(labels, ",")] += s.Values[0]
	}
	return sumLines(sums)
}

// TestOTLPStacks checks that the stacks of a log keep their values, locations and labels, and
// that the sample type of times is first.
func TestOTLPStacks(t *testing.T) {
	t.Parallel()
	p := stackProfile(
		Stacks{Trie: stackTrie(), Numbers: map[string]uint32{"thread": 8, "process": 7}},
		Stacks{Trie: stackTrie(), Labels: map[string]string{"log": "a"}},
	)
	p.Comments = []string{"a note"}
	data := OTLP(p, Resource{Service: "app", BuildID: "1f3c", Writer: "cairn"})
	out := decodeOTLP(t, data)
	checkTables(t, out.Dictionary)
	r := out.ResourceProfiles[0]
	if got := fmt.Sprint(r.Resource.Attributes[0].Value.GetStringValue(), " ", r.Resource.Attributes[1].Value.GetStringValue()); got != "app 1f3c" {
		t.Errorf("the resource is %s", got)
	}
	profiles := r.ScopeProfiles[0].Profiles
	for k, i := range []int{1, 0} { // time is the default type
		got := profiles[k]
		if name := out.Dictionary.StringTable[got.SampleType.TypeStrindex]; name != p.SampleType[i].Type {
			t.Errorf("profile %d is of %s", k, name)
		}
		if int64(got.TimeUnixNano) != p.TimeNanos || got.DurationNano != 1000 || len(got.AttributeIndices) != 1 {
			t.Errorf("profile %d has the time %d, the duration %d, %d attributes", k, got.TimeUnixNano, got.DurationNano, len(got.AttributeIndices))
		}
		if a, b := otlpLines(out.Dictionary, got), pprofLines(p, i); !slices.Equal(a, b) {
			t.Errorf("profile %d: got\n%s\nwant\n%s", k, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
}

// checkTables checks what the protocol requires of all tables: a zero value first, no index out
// of range, no duplicates.
func checkTables(t interface {
	Helper()
	Errorf(string, ...any)
}, d *otlp.ProfilesDictionary,
) {
	t.Helper()
	unique := func(what string, n int, at func(int) proto.Message) {
		seen := make(map[string]int)
		for i := range n {
			data, err := proto.MarshalOptions{Deterministic: true}.Marshal(at(i))
			if err != nil {
				t.Errorf("%s %d: %v", what, i, err)
			}
			if i == 0 && len(data) > 0 && what != "link" {
				t.Errorf("%s 0 is not the zero value", what)
			}
			if before, ok := seen[string(data)]; ok {
				t.Errorf("%s %d is the same as %d", what, i, before)
			}
			seen[string(data)] = i
		}
	}
	unique("mapping", len(d.MappingTable), func(i int) proto.Message { return d.MappingTable[i] })
	unique("location", len(d.LocationTable), func(i int) proto.Message { return d.LocationTable[i] })
	unique("function", len(d.FunctionTable), func(i int) proto.Message { return d.FunctionTable[i] })
	unique("attribute", len(d.AttributeTable), func(i int) proto.Message { return d.AttributeTable[i] })
	unique("stack", len(d.StackTable), func(i int) proto.Message { return d.StackTable[i] })
	unique("link", len(d.LinkTable), func(i int) proto.Message { return d.LinkTable[i] })
	if d.StringTable[0] != "" || len(slices.Compact(slices.Sorted(slices.Values(d.StringTable)))) != len(d.StringTable) {
		t.Errorf("the strings are %q", d.StringTable)
	}
}

// TestOTLPAny checks that any valid profile of pprof keeps its contents.
func TestOTLPAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := anyProfile(t)
		out := decodeOTLP(t, OTLP(p, Resource{Service: "app"}))
		checkTables(t, out.Dictionary)
		for i, got := range out.ResourceProfiles[0].ScopeProfiles[0].Profiles {
			if a, b := otlpLines(out.Dictionary, got), pprofLines(p, i); !slices.Equal(a, b) {
				t.Fatalf("got\n%s\nwant\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
		}
	})
}

// anyProfile returns a profile as it comes back from a file.
func anyProfile(t *rapid.T) *pprof.Profile {
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "calls", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}}
	name := rapid.SampledFrom([]string{"", "main", "work", "a.c", "größe"})
	for i := range rapid.IntRange(1, 3).Draw(t, "mappings") {
		p.Mapping = append(p.Mapping, &pprof.Mapping{ID: uint64(i + 1), File: name.Draw(t, "file"), BuildID: fmt.Sprintf("%02x", i), Start: uint64(i) << 12, Limit: uint64(i+1) << 12})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "functions") {
		p.Function = append(p.Function, &pprof.Function{ID: uint64(i + 1), Name: fmt.Sprint(name.Draw(t, "name"), i), SystemName: name.Draw(t, "system"), Filename: name.Draw(t, "file"), StartLine: int64(i)})
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "locations") {
		l := &pprof.Location{ID: uint64(i + 1), Address: uint64(i + 1)}
		if n := rapid.IntRange(0, len(p.Mapping)).Draw(t, "mapping"); n > 0 {
			l.Mapping = p.Mapping[n-1]
		}
		for range rapid.IntRange(0, 2).Draw(t, "lines") {
			l.Line = append(l.Line, pprof.Line{Function: rapid.SampledFrom(p.Function).Draw(t, "function"), Line: rapid.Int64Range(0, 9).Draw(t, "line")})
		}
		p.Location = append(p.Location, l)
	}
	for range rapid.IntRange(0, 8).Draw(t, "samples") {
		s := &pprof.Sample{Value: []int64{rapid.Int64Range(0, 5).Draw(t, "calls"), rapid.Int64Range(0, 5).Draw(t, "time")}}
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			s.Location = append(s.Location, rapid.SampledFrom(p.Location).Draw(t, "location"))
		}
		if rapid.Bool().Draw(t, "labelled") {
			s.NumLabel = map[string][]int64{"thread": {rapid.Int64Range(1, 3).Draw(t, "thread")}}
		}
		p.Sample = append(p.Sample, s)
	}
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	back, err := pprof.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return back
}

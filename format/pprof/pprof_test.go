package pprof_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/cairnprof/cairn/format/pprof"
)

// random returns a profile, and the same for the library of pprof.
func random(r *rand.Rand) (*pprof.Profile, *profile.Profile) {
	name := func() string { return []string{"", "main", "work", "[kernel.kallsyms]_text", "a/b.c"}[r.IntN(5)] }
	number := func() int64 { return []int64{0, 1, -1, 300, 1 << 40}[r.IntN(5)] }
	p, q := &pprof.Profile{}, &profile.Profile{}
	for range 1 + r.IntN(3) {
		typ, unit := name(), name()
		p.SampleType, q.SampleType = append(p.SampleType, &pprof.ValueType{Type: typ, Unit: unit}), append(q.SampleType, &profile.ValueType{Type: typ, Unit: unit})
	}
	for i := range 1 + r.IntN(4) {
		f := pprof.Function{ID: uint64(i)*uint64(1+r.IntN(2)) + 1, Name: name(), SystemName: name(), Filename: name(), StartLine: number()}
		if i > 0 {
			f.ID = p.Function[i-1].ID + 1 + uint64(r.IntN(9))
		}
		p.Function, q.Function = append(p.Function, &f), append(q.Function, &profile.Function{ID: f.ID, Name: f.Name, SystemName: f.SystemName, Filename: f.Filename, StartLine: f.StartLine})
	}
	for i := range r.IntN(3) {
		m := pprof.Mapping{ID: uint64(i + 1), Start: uint64(number()), Limit: uint64(number()), Offset: uint64(number()), File: name(), BuildID: name(), HasFunctions: r.IntN(2) > 0, HasInlineFrames: r.IntN(2) > 0}
		p.Mapping, q.Mapping = append(p.Mapping, &m), append(q.Mapping, &profile.Mapping{ID: m.ID, Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File, BuildID: m.BuildID, HasFunctions: m.HasFunctions, HasInlineFrames: m.HasInlineFrames})
	}
	for i := range 1 + r.IntN(4) {
		l, o := &pprof.Location{ID: uint64(i + 1), Address: uint64(number())}, &profile.Location{ID: uint64(i + 1)}
		o.Address = l.Address
		if n := len(p.Mapping); n > 0 && r.IntN(3) > 0 {
			k := r.IntN(n)
			l.Mapping, o.Mapping = p.Mapping[k], q.Mapping[k]
		}
		for range r.IntN(3) {
			k, line, column := r.IntN(len(p.Function)), number(), number()
			l.Line, o.Line = append(l.Line, pprof.Line{Function: p.Function[k], Line: line, Column: column}), append(o.Line, profile.Line{Function: q.Function[k], Line: line, Column: column})
		}
		p.Location, q.Location = append(p.Location, l), append(q.Location, o)
	}
	for range r.IntN(5) {
		s, o := &pprof.Sample{}, &profile.Sample{}
		for range p.SampleType {
			v := number()
			s.Value, o.Value = append(s.Value, v), append(o.Value, v)
		}
		for range r.IntN(5) {
			k := r.IntN(len(p.Location))
			s.Location, o.Location = append(s.Location, p.Location[k]), append(o.Location, q.Location[k])
		}
		if r.IntN(2) > 0 {
			s.NumLabel = map[string][]int64{"bytes": {number(), 7}, "thread": {number()}}
			s.NumUnit = map[string][]string{"bytes": {name(), name()}}
			s.Label = map[string][]string{"x": {name(), "y"}}
			o.NumLabel, o.NumUnit, o.Label = s.NumLabel, s.NumUnit, s.Label
		}
		p.Sample, q.Sample = append(p.Sample, s), append(q.Sample, o)
	}
	for range r.IntN(4) {
		p.Comments = append(p.Comments, name())
	}
	p.TimeNanos, p.DurationNanos, p.Period, p.DefaultSampleType = number(), number(), number(), name()
	if r.IntN(2) > 0 {
		p.PeriodType = &pprof.ValueType{Type: name(), Unit: name()}
		q.PeriodType = &profile.ValueType{Type: p.PeriodType.Type, Unit: p.PeriodType.Unit}
	}
	q.Comments, q.TimeNanos, q.DurationNanos, q.Period, q.DefaultSampleType = p.Comments, p.TimeNanos, p.DurationNanos, p.Period, p.DefaultSampleType
	return p, q
}

// TestWritten checks that profiles are written as the library of pprof writes them, and that what is read is what was written.
func TestWritten(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		p, q := random(r)
		var got, want bytes.Buffer
		if err := p.Write(&got); err != nil {
			t.Fatal(err)
		}
		if err := q.Write(&want); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("not what the library writes of\n%s", q)
		}
		back, err := pprof.Parse(got.Bytes())
		if err != nil {
			t.Fatalf("%v: %s", err, q)
		}
		for i, s := range back.Sample {
			s.Label, s.NumLabel, s.NumUnit = p.Sample[i].Label, p.Sample[i].NumLabel, p.Sample[i].NumUnit
		}
		var again bytes.Buffer
		if err := back.Write(&again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), again.Bytes()) {
			t.Fatalf("what is read of it is something else: %s", q)
		}
	}
}

// ours is what a reader found, as theirs is.
func ours(p *pprof.Profile) (out string) {
	for _, s := range p.Sample {
		out += fmt.Sprint(s.Value)
		for _, l := range s.Location {
			out += fmt.Sprintf(" %d@%x", l.ID, l.Address)
			for _, at := range l.Line {
				out += fmt.Sprintf(" %q:%d", at.Function.Name, at.Line)
			}
			if l.Mapping != nil {
				out += l.Mapping.File
			}
		}
	}
	return out + fmt.Sprint(p.Comments, p.TimeNanos, p.DefaultSampleType)
}

func theirs(p *profile.Profile) (out string) {
	for _, s := range p.Sample {
		out += fmt.Sprint(s.Value)
		for _, l := range s.Location {
			out += fmt.Sprintf(" %d@%x", l.ID, l.Address)
			for _, at := range l.Line {
				out += fmt.Sprintf(" %q:%d", at.Function.Name, at.Line)
			}
			if l.Mapping != nil {
				out += l.Mapping.File
			}
		}
	}
	return out + fmt.Sprint(p.Comments, p.TimeNanos, p.DefaultSampleType)
}

// differ reports a profile of which the library reads something else. The library also reads numbers that are too long, and
// fields without a number.
func differ(data []byte) error {
	p, err := pprof.Parse(data)
	q, other := profile.ParseUncompressed(data)
	if other == nil {
		other = q.CheckValid()
	}
	switch {
	case err != nil:
		return nil
	case other != nil:
		return fmt.Errorf("nothing is damaged, and by the library: %w", other)
	}
	if a, b := ours(p), theirs(q); a != b {
		return fmt.Errorf("%s, and by the library %s", a, b)
	}
	return nil
}

// TestDamaged checks that changed profiles are read as by the library of pprof.
func TestDamaged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	bad, differs := 0, 0
	for range 2000 {
		p, _ := random(r)
		var text bytes.Buffer
		if err := p.WriteUncompressed(&text); err != nil {
			t.Fatal(err)
		}
		data := text.Bytes()
		for range 1 + r.IntN(3) {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
		if r.IntN(4) == 0 {
			data = data[:r.IntN(len(data))]
		}
		if _, err := pprof.Parse(data); err != nil {
			bad++
		}
		if err := differ(data); err != nil {
			if differs++; differs < 5 {
				t.Errorf("%v: %q", err, data)
			}
		}
	}
	if bad < 200 || bad > 1800 {
		t.Errorf("%d of 2000 are damaged", bad)
	}
}

func FuzzParse(f *testing.F) {
	p, _ := random(rand.New(rand.NewPCG(5, 6)))
	var text bytes.Buffer
	if err := p.WriteUncompressed(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := pprof.Parse(data); err == nil {
			if err := p.WriteUncompressed(&bytes.Buffer{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

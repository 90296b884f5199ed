package pprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Errors of damaged profiles.
var (
	errDamaged  = errors.New("a message is cut off, or a field has another type")
	errSeveral  = errors.New("there are several profiles, one after the other")
	errNoString = errors.New("a string is not in the table, or its first one is not empty")
)

// Parse reads a profile, and checks that its parts fit together.
func Parse(data []byte) (*Profile, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(z)
		}
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
	}
	if len(data) == 0 {
		return nil, errors.New("it is empty")
	}
	d := decoder{p: &Profile{}}
	err := d.fields(data, d.field)
	if err == nil {
		err = d.resolve()
	}
	if err == nil {
		err = d.p.CheckValid()
	}
	if err != nil {
		return nil, err
	}
	return d.p, nil
}

// field is a field of a message: a number, or bytes.
type field struct {
	of    protowire.Number
	kind  protowire.Type
	value uint64
	data  []byte
}

// number returns the value of a field that has one.
func (f *field) number() (uint64, error) {
	if f.kind != protowire.VarintType {
		return 0, errDamaged
	}
	return f.value, nil
}

// message returns the bytes of a field that has some.
func (f *field) message() ([]byte, error) {
	if f.kind != protowire.BytesType {
		return nil, errDamaged
	}
	return f.data, nil
}

// list adds the numbers of a field, of which there is one, or all in one piece.
func (f *field) list(to *[]uint64) error {
	if f.kind == protowire.VarintType {
		*to = append(*to, f.value)
		return nil
	}
	data, err := f.message()
	for err == nil && len(data) > 0 {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return errDamaged
		}
		*to, data = append(*to, v), data[n:]
	}
	return err
}

// text is a string that refers to the table.
type text struct {
	to    *string
	index uint64
}

// decoder has what refers to messages that may follow.
type decoder struct {
	p        *Profile
	table    []string
	texts    []text
	comments []uint64
	stacks   [][]uint64 // of samples
	mappings []uint64   // of locations
	lines    [][]uint64 // the functions of these
}

// fields calls do for each field of a message.
func (d *decoder) fields(data []byte, do func(f *field) error) error {
	for len(data) > 0 {
		var f field
		var n int
		if f.of, f.kind, n = protowire.ConsumeTag(data); n < 0 {
			return errDamaged
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(f.of, f.kind, data); n < 0 {
			return errDamaged
		}
		switch f.kind {
		case protowire.VarintType:
			f.value, _ = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			f.data, _ = protowire.ConsumeBytes(data)
		case protowire.Fixed32Type, protowire.Fixed64Type:
		default:
			return errDamaged
		}
		data = data[n:]
		if err := do(&f); err != nil {
			return err
		}
	}
	return nil
}

// numbers reads a message of numbers: those of texts are in the table. Of others do is asked.
func (d *decoder) numbers(data []byte, numbers map[protowire.Number]*uint64, texts map[protowire.Number]*string) error {
	return d.fields(data, func(f *field) error {
		to, ok := numbers[f.of]
		s, is := texts[f.of]
		if !ok && !is {
			return nil
		}
		v, err := f.number()
		switch {
		case err != nil:
		case ok:
			*to = v
		default:
			d.texts = append(d.texts, text{s, v})
		}
		return err
	})
}

// field reads a field of a profile.
func (d *decoder) field(f *field) error {
	switch f.of {
	case 1, 2, 3, 4, 5, 6, 11:
		data, err := f.message()
		if err != nil {
			return err
		}
		return d.part(f.of, data)
	case 13:
		return f.list(&d.comments)
	case 7, 8, 9, 10, 12, 14, 15:
	default:
		return nil
	}
	v, err := f.number()
	if err != nil {
		return err
	}
	switch f.of {
	case 7, 8, 15: // which frames to drop or to keep, and a page that describes it
		d.texts = append(d.texts, text{new(string), v})
	case 9:
		if d.p.TimeNanos != 0 {
			return errSeveral
		}
		d.p.TimeNanos = int64(v)
	case 10:
		d.p.DurationNanos = int64(v)
	case 12:
		d.p.Period = int64(v)
	case 14:
		d.texts = append(d.texts, text{&d.p.DefaultSampleType, v})
	}
	return nil
}

// part reads a message of a profile.
func (d *decoder) part(of protowire.Number, data []byte) error {
	switch of {
	case 1:
		t := new(ValueType)
		d.p.SampleType = append(d.p.SampleType, t)
		return d.valueType(data, t)
	case 2:
		return d.sample(data)
	case 3:
		return d.mapping(data)
	case 4:
		return d.location(data)
	case 5:
		f, line := new(Function), uint64(0)
		d.p.Function = append(d.p.Function, f)
		err := d.numbers(data, map[protowire.Number]*uint64{1: &f.ID, 5: &line}, map[protowire.Number]*string{2: &f.Name, 3: &f.SystemName, 4: &f.Filename})
		f.StartLine = int64(line)
		return err
	case 6:
		if len(d.table) == 0 && len(data) > 0 {
			return errNoString
		}
		d.table = append(d.table, string(data))
		return nil
	}
	d.p.PeriodType = new(ValueType)
	return d.valueType(data, d.p.PeriodType)
}

func (d *decoder) valueType(data []byte, t *ValueType) error {
	return d.numbers(data, nil, map[protowire.Number]*string{1: &t.Type, 2: &t.Unit})
}

func (d *decoder) sample(data []byte) error {
	s := new(Sample)
	var ids, values []uint64
	err := d.fields(data, func(f *field) error {
		switch f.of {
		case 1:
			return f.list(&ids)
		case 2:
			return f.list(&values)
		case 3:
			label, err := f.message()
			if err != nil {
				return err
			}
			var number uint64
			var key, value, unit string
			return d.numbers(label, map[protowire.Number]*uint64{3: &number}, map[protowire.Number]*string{1: &key, 2: &value, 4: &unit})
		}
		return nil
	})
	for _, v := range values {
		s.Value = append(s.Value, int64(v))
	}
	d.p.Sample, d.stacks = append(d.p.Sample, s), append(d.stacks, ids)
	return err
}

func (d *decoder) mapping(data []byte) error {
	m := new(Mapping)
	var has [4]uint64
	err := d.numbers(data, map[protowire.Number]*uint64{1: &m.ID, 2: &m.Start, 3: &m.Limit, 4: &m.Offset, 7: &has[0], 8: &has[1], 9: &has[2], 10: &has[3]},
		map[protowire.Number]*string{5: &m.File, 6: &m.BuildID})
	m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = has[0] != 0, has[1] != 0, has[2] != 0, has[3] != 0
	d.p.Mapping = append(d.p.Mapping, m)
	return err
}

func (d *decoder) location(data []byte) error {
	l := new(Location)
	var mapping uint64
	var functions []uint64
	numbers := map[protowire.Number]*uint64{1: &l.ID, 2: &mapping, 3: &l.Address, 5: new(uint64)}
	err := d.fields(data, func(f *field) error {
		if to, ok := numbers[f.of]; ok {
			v, err := f.number()
			*to = v
			return err
		}
		if f.of != 4 {
			return nil
		}
		message, err := f.message()
		if err != nil {
			return err
		}
		var function, line, column uint64
		err = d.numbers(message, map[protowire.Number]*uint64{1: &function, 2: &line, 3: &column}, nil)
		l.Line, functions = append(l.Line, Line{Line: int64(line), Column: int64(column)}), append(functions, function)
		return err
	})
	d.p.Location, d.mappings, d.lines = append(d.p.Location, l), append(d.mappings, mapping), append(d.lines, functions)
	return err
}

// resolve sets what refers to others.
func (d *decoder) resolve() error {
	for _, t := range d.texts {
		if t.index >= uint64(len(d.table)) {
			return errNoString
		}
		*t.to = d.table[t.index]
	}
	for _, index := range d.comments {
		if index >= uint64(len(d.table)) {
			return errNoString
		}
		d.p.Comments = append(d.p.Comments, d.table[index])
	}
	mappings, functions, locations := map[uint64]*Mapping{}, map[uint64]*Function{}, map[uint64]*Location{}
	for _, m := range d.p.Mapping {
		mappings[m.ID] = m
	}
	for _, f := range d.p.Function {
		functions[f.ID] = f
	}
	for i, l := range d.p.Location {
		locations[l.ID] = l
		l.Mapping = mappings[d.mappings[i]]
		for k, id := range d.lines[i] {
			l.Line[k].Function = functions[id]
		}
	}
	for i, s := range d.p.Sample {
		for _, id := range d.stacks[i] {
			s.Location = append(s.Location, locations[id])
		}
	}
	return nil
}

// CheckValid reports the first part of a profile that does not fit to the others.
func (p *Profile) CheckValid() error {
	if len(p.SampleType) == 0 && len(p.Sample) > 0 {
		return errors.New("it does not say what its values are")
	}
	mappings, functions, locations := map[uint64]*Mapping{}, map[uint64]*Function{}, map[uint64]*Location{}
	fresh := func(what string, id uint64, known bool) error {
		if id == 0 || known {
			return fmt.Errorf("the number %d of a %s is 0, or that of another one", id, what)
		}
		return nil
	}
	for _, m := range p.Mapping {
		if err := fresh("mapping", m.ID, mappings[m.ID] != nil); err != nil {
			return err
		}
		mappings[m.ID] = m
	}
	for _, f := range p.Function {
		if err := fresh("function", f.ID, functions[f.ID] != nil); err != nil {
			return err
		}
		functions[f.ID] = f
	}
	for _, l := range p.Location {
		if err := fresh("location", l.ID, locations[l.ID] != nil); err != nil {
			return err
		}
		locations[l.ID] = l
		if m := l.Mapping; m != nil && mappings[m.ID] != m {
			return fmt.Errorf("location %d has a mapping that the profile does not have", l.ID)
		}
		for _, line := range l.Line {
			if f := line.Function; f == nil || functions[f.ID] != f {
				return fmt.Errorf("location %d has a function that the profile does not have", l.ID)
			}
		}
	}
	for _, s := range p.Sample {
		if len(s.Value) != len(p.SampleType) {
			return fmt.Errorf("a sample has %d values, of %d types", len(s.Value), len(p.SampleType))
		}
		for _, l := range s.Location {
			if l == nil || locations[l.ID] != l {
				return errors.New("a sample has a location that the profile does not have")
			}
		}
	}
	return nil
}

// Package pprofstacks reads profiles in the format of pprof (profile.proto of github.com/google/pprof), plain or
// compressed with gzip, as stacks of functions with their inlined ones.
package pprofstacks

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/sample"
)

// maxSize bounds a profile, in bytes without compression: it is decoded as a whole.
const maxSize = 1 << 30

// fieldTypes are the wire types of the fields of Profile, by number. Repeated numbers may be packed.
var fieldTypes = [...][]protowire.Type{
	1: {protowire.BytesType}, 2: {protowire.BytesType}, 3: {protowire.BytesType}, 4: {protowire.BytesType}, 5: {protowire.BytesType},
	6: {protowire.BytesType}, 7: {protowire.VarintType}, 8: {protowire.VarintType}, 9: {protowire.VarintType}, 10: {protowire.VarintType},
	11: {protowire.BytesType}, 12: {protowire.VarintType}, 13: {protowire.VarintType, protowire.BytesType}, 14: {protowire.VarintType},
	15: {protowire.VarintType},
}

// Detect reports whether a file that begins with head is a profile: a message whose fields have the numbers and types
// of those of Profile, in any order, among them a type of samples or a sample.
func Detect(head []byte) bool {
	const enough = 1000 // fields
	types := 0
	for n := 0; len(head) > 0 && n < enough; n++ {
		num, typ, tag := protowire.ConsumeTag(head)
		if tag < 0 || int(num) >= len(fieldTypes) || !slices.Contains(fieldTypes[num], typ) {
			return false
		}
		size := protowire.ConsumeFieldValue(num, typ, head[tag:])
		if size < 0 { // the head ends in it, or it is damaged
			break
		}
		if num == 1 || num == 11 {
			value, _ := protowire.ConsumeBytes(head[tag:])
			if !isValueType(value) {
				return false
			}
			types++
		}
		head = head[tag+size:]
	}
	return types > 0
}

// isValueType reports whether a message is a ValueType: it has two numbers.
func isValueType(b []byte) bool {
	for len(b) > 0 {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 || num < 1 || num > 2 || typ != protowire.VarintType {
			return false
		}
		_, n := protowire.ConsumeVarint(b[tag:])
		if n < 0 {
			return false
		}
		b = b[tag+n:]
	}
	return true
}

// errTooLarge is the error of a profile that is too large to be decoded.
var errTooLarge = errors.New("the profile has more than 1 GB")

// Read yields the samples of a profile, once for each type of values: first those of the default type, which is the
// last one if the profile does not name another. Samples without a value of a type are left out.
func Read(r io.Reader, name string) iter.Seq2[*sample.NamedStack, error] {
	return func(yield func(*sample.NamedStack, error) bool) {
		data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
		if err == nil && len(data) > maxSize {
			err = errTooLarge
		}
		var p *pprof.Profile
		if err == nil {
			p, err = pprof.Parse(data)
		}
		if err != nil {
			yield(nil, fmt.Errorf("%s: reading a profile of pprof: %w", name, err))
			return
		}
		x := reader{p: p, frames: map[*pprof.Location][]sample.NamedFrame{}}
		for _, k := range x.order() {
			if !x.each(k, name, yield) {
				return
			}
		}
	}
}

type reader struct {
	p      *pprof.Profile
	frames map[*pprof.Location][]sample.NamedFrame // innermost first
}

// order returns the indexes of the types of values, the default first.
func (x *reader) order() []int {
	list := make([]int, len(x.p.SampleType))
	for i := range list {
		list[i] = i
	}
	first := len(list) - 1
	for i, t := range x.p.SampleType {
		if t.Type == x.p.DefaultSampleType && t.Type != "" {
			first = i
		}
	}
	if first > 0 {
		list = slices.Insert(slices.Delete(list, first, first+1), 0, first)
	}
	return list
}

// each yields the samples with a value of type k.
func (x *reader) each(k int, name string, yield func(*sample.NamedStack, error) bool) bool {
	typ := x.p.SampleType[k]
	moments := slices.IndexFunc(x.p.SampleType, func(t *pprof.ValueType) bool { return t.Unit == "count" && t.Type == "samples" })
	s := sample.NamedStack{PID: sample.UnknownPID, TID: sample.UnknownPID, Event: typ.Type, Unit: unit(typ)}
	negative, large := uint64(0), uint64(0)
	for _, one := range x.p.Sample {
		switch v := one.Value[k]; {
		case v < 0:
			negative++
			continue
		case v == 0:
			continue
		default:
			s.Value = uint64(v)
		}
		if s.Unit == sample.Nanoseconds {
			if s.Value > math.MaxInt64/factor(typ.Unit) {
				large++
				continue
			}
			s.Value *= factor(typ.Unit)
		}
		s.Moments = 0
		if moments >= 0 && one.Value[moments] > 0 {
			s.Moments = uint64(one.Value[moments])
		}
		s.Frames = s.Frames[:0]
		for _, loc := range slices.Backward(one.Location) {
			frames := x.location(loc)
			for i := range slices.Backward(frames) {
				s.Frames = append(s.Frames, frames[i])
			}
		}
		if !yield(&s, nil) {
			return false
		}
	}
	if large > 0 {
		d := sample.Damage{What: "a value of " + typ.Type + " is more than 292 years: its stack was skipped", Count: large, File: name}
		if !yield(nil, &d) {
			return false
		}
	}
	if negative > 0 {
		d := sample.Damage{What: "a value of " + typ.Type + " is negative, as in differences of profiles: its stack was skipped", Count: negative, File: name}
		return yield(nil, &d)
	}
	return true
}

// unit returns the unit of a type of values.
func unit(t *pprof.ValueType) string {
	switch t.Unit {
	case "count", "":
		if t.Type == "samples" || t.Type == "" {
			return sample.Samples
		}
		return t.Type
	case "nanoseconds", "microseconds", "milliseconds", "seconds":
		return sample.Nanoseconds
	}
	return t.Unit
}

// factor returns the nanoseconds of a unit of time.
func factor(unit string) uint64 {
	switch unit {
	case "microseconds":
		return 1e3
	case "milliseconds":
		return 1e6
	case "seconds":
		return 1e9
	}
	return 1
}

// location returns the functions at a location, innermost first.
func (x *reader) location(loc *pprof.Location) []sample.NamedFrame {
	if frames, ok := x.frames[loc]; ok {
		return frames
	}
	kind, module := sample.UserFrame, ""
	if m := loc.Mapping; m != nil {
		module = m.File
		base := path.Base(module)
		if strings.HasPrefix(module, "[kernel") || strings.HasPrefix(base, "vmlinu") || strings.HasSuffix(base, ".ko") {
			kind = sample.KernelFrame
		}
	}
	var frames []sample.NamedFrame
	for i, line := range loc.Line {
		f := sample.NamedFrame{Kind: kind}
		if i < len(loc.Line)-1 && kind == sample.UserFrame {
			f.Kind = sample.InlinedFrame
		}
		if line.Function != nil {
			f.Name = line.Function.Name
			if f.Name == "" {
				f.Name = line.Function.SystemName
			}
		}
		if f.Name == "" {
			f.Name = unnamed(module)
		}
		frames = append(frames, f)
	}
	if len(frames) == 0 {
		frames = []sample.NamedFrame{{Name: unnamed(module), Kind: kind}}
	}
	x.frames[loc] = frames
	return frames
}

// unnamed returns the name of code without a symbol in a file.
func unnamed(module string) string {
	if base := strings.Trim(path.Base(module), "[]"); module != "" && base != "" {
		return "[" + base + "]"
	}
	return "[unknown]"
}

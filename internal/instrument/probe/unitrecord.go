package probe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Each object has a record of all functions that the compiler made, also of those without probes: a map entry is
// dropped with its function, and what the linker dropped did not run, which is not the same as not being there.
// The record is in a section that is linked to no function. The lines are those of .loc directives, as those of
// a dropped function are not in the linked program's debug information. In Mach-O it is in the section of the map,
// from which only functions that stay have their entries, as that section is removed from what is shipped.

// unitRecord returns what the compiler made of a source file. why has the reason why a function has no probe, and
// "" for functions with one.
func (r *Rewriter) unitRecord(why map[*asm.Function]string) *prof.Unit {
	u := &prof.Unit{File: r.Source}
	names := map[int32]string{}
	name := func(n int32) string {
		path, ok := names[n]
		if !ok {
			path = r.Unit.Files.Path(n, r.Opts.Dir)
			names[n] = path
		}
		return path
	}
	for _, fn := range r.Unit.Funcs {
		reason, skipped := why[fn]
		if skipped && reason != SkipNaked {
			continue // its user chose that, or it has no code of its own
		}
		sec := fn.Main().Sec
		a := prof.Absent{
			Name: fn.Name, File: r.Opts.SourceFor(fn.Name, r.Source),
			Shared: strings.HasSuffix(sec.Group, ",comdat") || sec.Any || r.Unit.Weak[fn.Name],
		}
		if skipped {
			a.Why, a.Note = prof.Unprobed, reason
		}
		if locs := fn.Main().Locs; len(locs) > 0 {
			if file := name(locs[0].File); file != "" {
				a.Source, a.Line = file, uint32(locs[0].Line)
			}
		}
		a.Lines = lineRanges(fn, name)
		u.Funcs = append(u.Funcs, a)
	}
	prof.MarkInlined(u.Funcs, u.Funcs)
	return u
}

// lineRanges returns the lines that code of f has.
func lineRanges(f *asm.Function, name func(n int32) string) []prof.LineRange {
	var ranges []prof.LineRange
	for _, fr := range f.Frags {
		for i, l := range fr.Locs {
			if i > 0 && l == fr.Locs[i-1] {
				continue
			}
			if file := name(l.File); file != "" {
				ranges = append(ranges, prof.LineRange{File: file, From: uint32(l.Line), To: uint32(l.Line)})
			}
		}
	}
	return sortedRanges(ranges)
}

// sortedRanges returns ranges in the order of records.
func sortedRanges(ranges []prof.LineRange) []prof.LineRange {
	stablesort.Func(ranges, func(a, b prof.LineRange) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.From, b.From)) })
	return prof.JoinRanges(ranges)
}

// appendUnit appends the section with the record of the unit.
func (r *Rewriter) appendUnit(out []byte) []byte {
	data, err := mip.AppendUnit(nil, r.unitRecord(r.why))
	if err != nil {
		return out // a name is longer than the formats allow: its function has no map entry, either
	}
	return r.object().appendUnit(r, out, data)
}

// appendBytes appends directives with data.
func appendBytes(out, data []byte) []byte {
	const perLine = 32
	for chunk := range slices.Chunk(data, perLine) {
		out = append(out, "\t.byte\t"...)
		for i, b := range chunk {
			if i > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendUint(out, uint64(b), 10)
		}
		out = append(out, '\n')
	}
	return out
}

package probe

import (
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: COFF has no section groups and no SHF_LINK_ORDER. What belongs to a function that the linker may drop, or take
// from another object, must go with it, and linkers and assemblers differ in how that is said.
//
// Choice: linkers merge sections by their name before $, in the order of the rest (PE format, section 4.2). Records are in
// .crn$m, or in .crn$mNAME if the function is in a section of its own, which the linker keeps or drops by the references
// of the probes. If the function is a COMDAT, its record is one as well. GNU as names that by .linkonce, and takes the
// section's name for the key, so that each has another; clang names a symbol of the section, and the function's map is
// associated with the function.
//
// The map is in a section of debug information, in which linkers accept references to what they dropped, and replace them
// by 0: ReadMapSection knows that. lld-link drops such sections where it writes no PDB, and in clang's objects all of the map
// that belongs to what may be dropped is associated with that: for MSVC's system it has a name of its own.

// Sections of COFF.
const (
	coffRaw   = wire.RawCOFF + "$m"
	coffOrder = wire.OrderCOFF + "$m"
)

// coffMap begins the section of the map.
func coffMap(msvc bool) string {
	if msvc {
		return "\t.section\t" + wire.GoMapCOFF + ",\"drD\""
	}
	return "\t.section\t" + wire.MapCOFF + ",\"dr\""
}

// coff is the format of Windows.
type coff struct{}

func (coff) spell(_ *Rewriter, text []byte) []byte { return text }

func (coff) optsOut(fn *asm.Function) bool {
	return strings.HasPrefix(fn.Main().Sec.Name, OptOutSection)
}

func (coff) base() string { return "" }

func (coff) mapFlags() int { return 0 }

// areaOf returns the area that all functions of a section share, or those of a COMDAT.
func (coff) areaOf(r *Rewriter, fn *asm.Function) *area {
	s := fn.Main().Sec
	own := s.Group
	if own == "" {
		name, _, _ := strings.Cut(s.Name, ",") // without unique,N
		_, own, _ = strings.Cut(name, "$")
	}
	key := own
	if s.Group != "" {
		key = "g" + own
	}
	a := r.byKey[key]
	if a == nil {
		a = &area{index: len(r.areas), group: s.Group, symbol: own, weak: s.Once}
		r.byKey[key] = a
		r.areas = append(r.areas, a)
	}
	return a
}

func (coff) appendAreas(r *Rewriter, out []byte) []byte {
	for _, a := range r.areas {
		align := max(a.align, 1)
		out = a.beginCOFF(out, coffRaw, align, ".Lcairn_d", "__cairn_record.")
		out = zeros(out, a.size)
		if a.slots > 0 {
			out = zeros(a.beginCOFF(out, coffOrder, wire.SlotSize, ".Lcairn_o", "__cairn_slot."), a.slots*wire.SlotSize)
		}
	}
	return append(out, "\t.section\t.rdata,\"dr\"\n\t.balign\t4\n\t.rva\t"+RuntimeSymbol+"\n"...)
}

// beginCOFF begins an area's part of a section.
func (a *area) beginCOFF(out []byte, section string, align int, label, key string) []byte {
	name := asmQuote(section + a.symbol)
	switch {
	case a.group == "":
		out = append(out, "\t.section\t"+name+",\"bw\"\n"...)
	case a.weak:
		out = append(out, "\t.section\t"+name+",\"bw\"\n\t.linkonce discard\n"...)
	default:
		symbol := asmQuote(key + a.group)
		out = append(out, "\t.section\t"+name+",\"bw\",discard,"+symbol+"\n\t.globl\t"+symbol+"\n"+symbol+":\n"...)
	}
	if align > 1 {
		out = append(out, "\t.balign\t"+strconv.Itoa(align)+"\n"...)
	}
	return append(out, label+strconv.Itoa(a.index)+":\n"...)
}

func (coff) appendMap(r *Rewriter, out []byte, fn *asm.Function, _ int, _ position) []byte {
	out = append(out, coffMap(r.Opts.MSVC)...)
	if sec := fn.Main().Sec; sec.Group != "" && !sec.Once {
		out = append(out, ",associative,"+asmQuote(sec.Group)...)
	}
	return append(out, '\n')
}

func (coff) appendUnit(r *Rewriter, out, record []byte) []byte {
	mip.MarkUnitsOfMap(record)
	return appendBytes(append(out, coffMap(r.Opts.MSVC)+"\n"...), record)
}

// COFFRecord returns assembly of an object that has records of units only.
func COFFRecord(data []byte) []byte { return appendBytes([]byte(coffMap(false)+"\n"), data) }

// MSVCRecord is COFFRecord for MSVC's system.
func MSVCRecord(data []byte) []byte { return appendBytes([]byte(coffMap(true)+"\n"), data) }

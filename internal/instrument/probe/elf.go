package probe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// elf is the format of Linux and Android. A record is in a section that is kept or dropped with the code of its
// function, and in its group if it has one; the map's section is linked to the code's (SHF_LINK_ORDER).
type elf struct{}

func (elf) spell(_ *Rewriter, text []byte) []byte { return text }

func (elf) optsOut(fn *asm.Function) bool {
	return strings.HasPrefix(fn.Main().Sec.Name, OptOutSection)
}

func (elf) base() string { return "" }

func (elf) mapFlags() int { return 0 }

// areaKey returns the key of a text section's area.
func areaKey(s *asm.Section) string {
	if s.Group != "" {
		return "g" + s.Group
	}
	return "s" + s.Name
}

// areaOf returns the area that all functions of a section or section group share.
func (elf) areaOf(r *Rewriter, fn *asm.Function) *area {
	s := fn.Main().Sec
	key := areaKey(s)
	a := r.byKey[key]
	if a == nil {
		a = &area{index: len(r.areas), group: s.Group}
		r.byKey[key] = a
		r.areas = append(r.areas, a)
	}
	return a
}

func (elf) appendAreas(r *Rewriter, out []byte) []byte {
	on := machines[r.Unit.Kind]
	if len(r.areas) > 0 && !r.Opts.Apart {
		out = appendRoom(out, on.syntax().mark)
	}
	for _, a := range r.areas {
		align := on.syntax().flagAlign
		if a.align > 0 {
			align = a.align
		}
		out = on.appendArea(a.begin(out, on, wire.RawSection, align, ".Lcairn_d"), a)
		if a.slots > 0 {
			out = zeros(a.begin(out, on, wire.OrderSection, wire.SlotSize, ".Lcairn_o"), a.slots*wire.SlotSize)
		}
	}
	switch {
	case !r.Opts.Mode.HasSlots():
	case r.Opts.Apart:
		out = append(out, "\t.hidden\t"+nextSymbol+"\n"...)
	default:
		out = appendBuffer(out, on.syntax().mark, r.Opts.Slots)
	}
	out = r.AppendNeed(out, needSymbol, RuntimeSymbol)
	if first := firstCall(r.Opts.Mode); first != "" {
		out = append(out, "\t.hidden\t"+first+"\n"...)
	}
	return out
}

func (elf) appendMap(r *Rewriter, out []byte, fn *asm.Function, n int, rec position) []byte {
	sec, m := fn.Main().Sec, machines[r.Unit.Kind]
	anchor, seen := r.anchor[sec]
	if !seen {
		anchor = n
		r.anchor[sec] = n
		r.InsertNeed(fn, needSymbol)
		if r.Opts.ownSlots() { // which only the runtime uses
			r.Insert(fn.Main().Label, "\t.reloc\t., ", m.relocNone(), ", .Lcairn_o", strconv.Itoa(rec.area), "\n")
		}
	}
	flags, group := "o", ""
	if sec.Group != "" {
		flags, group = "oG", ","+sec.Group
	}
	return fmt.Appendf(out, "\t.section\t%s,\"%s\",%sprogbits,.Lcairn_f%d%s\n", wire.MapSection, flags, m.syntax().mark, anchor, group)
}

func (elf) appendUnit(r *Rewriter, out, record []byte) []byte {
	out = append(out, "\t.section\t"+wire.UnitSection+`,"",`+machines[r.Unit.Kind].syntax().mark+"progbits\n"...)
	return appendBytes(out, record)
}

// OrderBuffer returns the text of an object with the parts that Options.Apart leaves out.
func OrderBuffer(kind machine.Kind, opts Options) []byte {
	return appendBuffer(nil, machines[kind].syntax().mark, opts.Slots)
}

// appendBuffer appends what a module with an order buffer has only once: the number of first executions, among
// the records, and the slots if their number was requested.
func appendBuffer(out []byte, mark string, slots int) []byte {
	out = fmt.Appendf(out, "\t.section\t%s,\"awG\",%[3]snobits,%[2]s,comdat\n\t.balign\t4\n"+
		"\t.globl\t%[2]s\n\t.hidden\t%[2]s\n%[2]s:\n\t.zero\t4\n", wire.RawSection, nextSymbol, mark)
	if slots == 0 {
		return out
	}
	out = fmt.Appendf(out, "\t.section\t%s,\"awG\",%snobits,%s,comdat\n\t.balign\t%d\n\t.zero\t%d\n",
		wire.OrderSection, mark, ringSymbol, wire.SlotSize, slots*wire.SlotSize)
	return fmt.Appendf(out, "\t.section\t.rodata.cairn,\"aG\",%[3]sprogbits,%[1]s,comdat\n\t.balign\t4\n"+
		"\t.globl\t%[1]s\n\t.hidden\t%[1]s\n%[1]s:\n\t.long\t%[2]d\n", ringSymbol, slots, mark)
}

// roomSymbol is where the head of a raw file is among the records.
const roomSymbol = "__cairn_room"

// appendRoom appends room for the head of the raw file, before the records of an object. A link has the room of its first
// object with records, with which the section begins.
func appendRoom(out []byte, mark string) []byte {
	return fmt.Appendf(out, "\t.section\t%s,\"awG\",%[3]snobits,%[2]s,comdat\n"+
		"\t.weak\t%[2]s\n\t.hidden\t%[2]s\n%[2]s:\n\t.zero\t%[4]d\n", wire.RawSection, roomSymbol, mark, wire.RawHeadRoom)
}

// begin begins an area's part of a section.
func (a *area) begin(out []byte, on probes, name string, align int, label string) []byte {
	mark := on.syntax().mark
	if a.group != "" {
		out = append(out, "\t.section\t"+name+`,"awG",`+mark+`nobits,`+a.group+"\n"...)
	} else {
		out = append(out, "\t.section\t"+name+`,"aw",`+mark+`nobits,unique,`+strconv.Itoa(a.index+1)+"\n"...)
	}
	if align > 1 {
		out = append(out, "\t.balign\t"+strconv.Itoa(align)+"\n"...)
	}
	return append(out, label+strconv.Itoa(a.index)+":\n"...)
}

// zeros appends bytes of an area.
func zeros(out []byte, size int) []byte { return append(out, "\t.zero\t"+strconv.Itoa(size)+"\n"...) }

package probe

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: the assembly of Mach-O has the same instructions as ELF in another syntax. Local labels begin with
// L, C's names with an underscore, comments with ; or ##, and an address is sym@PAGE and sym@PAGEOFF. There are
// no .type and .size, and with .subsections_via_symbols every symbol begins an atom, which the linker moves,
// drops or takes from another object.
//
// Choice: one parser and one rewriter, for ELF's syntax. view translates each line to it, and spell translates
// inserted text to Mach-O's. The remaining differences:
//
//   - Functions are the symbols in code. A symbol that directly follows another one, or is
//     announced by .alt_entry, is part of the function before.
//   - Stubs are after the unwind entry of their own function, because the code before a
//     symbol belongs to another atom.
//   - The ends of linker optimisation hints (Lloh0:) stay with their instructions.
//   - Records have a symbol for each function, which begins with l and so is in no linked
//     file: -dead_strip drops it with the function. A weak function has a weak record, so that
//     linkers take both from the same object.
//   - The map is a separate section with the attribute live_support: an entry is kept if the
//     atom that it refers to is kept, and does not keep that atom itself. Addresses are stored
//     as distances, which need no relocation by the loader.

// Sections of Mach-O, in the segments that they are in. The order buffer directly follows the records, as in the file
// that is mapped over both, so that it is not aligned.
const (
	machORaw   = wire.RawMachO
	machOOrder = "__CAIRN_DATA,__cairn_order"
	machOMap   = wire.MapMachO + ",regular,live_support"
)

// noCompact is an unwind directive without effect that compact unwind entries cannot express, for which
// assemblers write DWARF instead.
const noCompact = "\t.cfi_same_value %rbx\n"

// weakRecord begins the names of records of weak functions.
const weakRecord = "__cairn_record."

// machOOptOut is OptOutSection in Mach-O.
const machOOptOut = "__TEXT,__cairn_skip"

// machO is the format of macOS and iOS.
type machO struct{}

// optsOut takes in functions of the runtime, which are in sections of their own in ELF.
func (machO) optsOut(fn *asm.Function) bool {
	section := fn.Main().Sec.Name
	return strings.HasPrefix(section, OptOutSection) || section == machOOptOut || strings.HasPrefix(fn.Name, "__cairn_")
}

func (machO) base() string { return "-." }

func (machO) mapFlags() int { return wire.MapRelative }

func (machO) spell(r *Rewriter, text []byte) []byte {
	out := make([]byte, 0, len(text)+16)
	page := false // in the operands of adrp
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			n := asm.QuotedLength(text[i:])
			out = append(out, text[i:i+n]...)
			i += n
		case bytes.HasPrefix(text[i:], []byte(":lo12:")):
			n := r.spellSymbol(&out, text, i+len(":lo12:"), "@PAGEOFF")
			i = n
		case asm.SymbolByte[c]:
			n := asm.WordEnd(text, i)
			switch word := text[i:n]; {
			case page && bytes.HasPrefix(word, []byte("__cairn_")):
				n = r.spellSymbol(&out, text, i, "@PAGE")
				page = false
			case !asm.IsLocal(word):
				out = append(out, word...)
				page = page && word[0] == 'x' || string(word) == "adrp"
			case page:
				n = r.spellSymbol(&out, text, i, "@PAGE")
				page = false
			default:
				n = r.spellSymbol(&out, text, i, "")
			}
			i = n
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// spellSymbol appends the local label, or the symbol of the runtime, at text[i:] with its modifier use, which precedes an
// addend, and returns where it ends.
func (r *Rewriter) spellSymbol(out *[]byte, text []byte, i int, use string) int {
	n := asm.WordEnd(text, i)
	name := string(text[i:n])
	if number, ok := bytes.CutPrefix(text[i:n], []byte(".Lcairn_d")); ok {
		if k, err := strconv.Atoi(string(number)); err == nil && k < len(r.areas) {
			name = "." + r.areas[k].symbol
		}
	}
	*out = append(append(*out, strings.TrimPrefix(name, ".")...), use...)
	return n
}

// areaOf returns an area of the function's own.
func (machO) areaOf(r *Rewriter, fn *asm.Function) *area {
	a := &area{index: len(r.areas)}
	a.symbol = "l_cairn_d" + strconv.Itoa(a.index)
	if a.weak = r.Unit.Weak[fn.Name]; a.weak {
		a.symbol = asmQuote(weakRecord + fn.Name)
	}
	r.areas = append(r.areas, a)
	return a
}

func (machO) appendAreas(r *Rewriter, out []byte) []byte {
	for _, a := range r.areas {
		align := "0"
		if a.align > 0 {
			align = "2" // the logarithm of wire.RecordAlign
		}
		if a.weak {
			out = append(out, "\t.globl\t"+a.symbol+"\n\t.private_extern\t"+a.symbol+"\n\t.weak_definition\t"+a.symbol+"\n"...)
		}
		out = append(out, ".zerofill "+machORaw+","+a.symbol+","+strconv.Itoa(a.size)+","+align+"\n"...)
		if a.slots > 0 {
			out = append(out, ".zerofill "+machOOrder+",l_cairn_o"+strconv.Itoa(a.index)+","+strconv.Itoa(a.slots*wire.SlotSize)+",0\n"+
				"\t.no_dead_strip\tl_cairn_o"+strconv.Itoa(a.index)+"\n"...)
		}
	}
	return out
}

func (machO) appendMap(_ *Rewriter, out []byte, _ *asm.Function, n int, _ position) []byte {
	return fmt.Appendf(out, "\t.section\t%s\nl_cairn_m%d:\n", machOMap, n)
}

func (machO) appendUnit(_ *Rewriter, out, record []byte) []byte {
	mip.MarkUnitsOfMap(record)
	return appendBytes(append(out, machOUnits...), record)
}

// machOUnits begins the records of units in Mach-O.
const machOUnits = "\t.section\t" + machOMap + "\n\t.no_dead_strip\tl_cairn_unit\nl_cairn_unit:\n"

// MachORecord returns assembly of an object that has records of units only.
func MachORecord(data []byte) []byte { return appendBytes([]byte(machOUnits), data) }

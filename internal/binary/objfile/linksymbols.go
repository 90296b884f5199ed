package objfile

import (
	"cmp"
	"debug/elf"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// LinkSymbol is a function symbol with the data that distinguishes it from others of its name.
type LinkSymbol struct {
	Symbol
	File string // base name of the source file, only of local symbols
	// Ordinal is 0 for a global symbol. A local symbol is the n-th of the local symbols with
	// its name, counted from 1 by address: the number that BOLT uses.
	Ordinal int
}

// LinkSymbols returns the function symbols of .symtab, ascending by address; those of a
// stripped module are read from its separate debug file. Without either there are none.
func (f *File) LinkSymbols() ([]LinkSymbol, error) {
	table, s := f.openSymbols()
	if s == nil {
		return nil, nil
	}
	defer f.done(table)
	var all []symbol
	err := table.eachSymbol(s, func(sym *symbol) {
		if sym.name != "" && sym.section != elf.SHN_UNDEF && sym.section != elf.SHN_ABS {
			all = append(all, *sym)
		}
	})
	if err != nil {
		return nil, err
	}
	stablesort.Func(all, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
	var syms []LinkSymbol
	locals := map[string]int{} // of any type: BOLT also counts data symbols
	for i := range all {
		fn := &all[i]
		l := LinkSymbol{Symbol: Symbol{Name: fn.name, Addr: fn.addr, Size: fn.size}, File: fn.file}
		if fn.bind == elf.STB_LOCAL {
			locals[fn.name]++
			l.Ordinal = locals[fn.name]
		}
		if fn.isFunc() {
			syms = append(syms, l)
		}
	}
	return syms, nil
}

// SymbolNames returns the names that .symtab defines, of the module or its separate debug file. The map is nil if
// there is no table, or if it lacks local symbols, as after strip -x: then the module may have functions whose
// names it lacks.
func (f *File) SymbolNames() (map[string]bool, error) {
	table, s := f.openSymbols()
	if s == nil {
		return nil, nil
	}
	defer f.done(table)
	names, complete := map[string]bool{}, false
	err := table.eachSymbol(s, func(sym *symbol) {
		if sym.name != "" && sym.section != elf.SHN_UNDEF {
			names[sym.name] = true
			complete = complete || sym.bind == elf.STB_LOCAL && sym.isFunc() && sym.file != "" // hidden names become local as well
		}
	})
	if err != nil || !complete {
		return nil, err
	}
	return names, nil
}

package objfile

import "debug/elf"

// Contents is a section that is loaded when the module runs, with its contents in the file.
type Contents struct {
	LoadedSection
	Data []byte
}

// Contents returns the loaded sections that have contents, in file order. Relocations are not
// applied.
func (f *File) Contents() ([]Contents, error) {
	var all []Contents
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || s.Size == 0 {
			continue
		}
		data, err := f.read(s)
		if err != nil {
			return nil, err
		}
		all = append(all, Contents{LoadedSection{
			Name: s.Name, Addr: s.Addr, Size: s.Size, Offset: s.Offset, InFile: true, Code: s.Flags&elf.SHF_EXECINSTR != 0,
		}, data})
	}
	return all, nil
}

// WindowsImage is what the headers of a program for Windows say.
type WindowsImage struct {
	Base        uint64    // preferred address
	Size, Stamp uint32    // bytes in memory; the time of the link, or a hash
	Unwind      [2]uint32 // table of functions: address from the base, and bytes
	Exports     [2]uint32 // directory of what it exports, the same
	DLL         bool
	Managed     bool // it is code for .NET
}

// Windows returns the headers of a program for Windows, nil for other files.
func (f *File) Windows() *WindowsImage { return f.elf.windows }

// FunctionSymbol is a function with one of its names.
type FunctionSymbol struct {
	Symbol
	Resolver bool // the dynamic loader calls it to select the implementation of the function
}

// FunctionSymbols returns one symbol for each address of a function, ascending, from the same
// tables and with the same choice of names as FunctionMap. If there are no symbols, the slice
// is empty.
func (f *File) FunctionSymbols() ([]FunctionSymbol, error) {
	funcs, err := f.functions()
	if err != nil {
		return nil, err
	}
	out := make([]FunctionSymbol, len(funcs))
	for i, s := range funcs {
		out[i] = FunctionSymbol{Symbol{s.name, s.addr, s.size}, s.kind == elf.STT_GNU_IFUNC}
	}
	return out, nil
}

// Interpreted reports whether the file is a program with a dynamic loader.
func (f *File) Interpreted() bool { return f.Interpreter() != "" }

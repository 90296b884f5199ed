package objfile

import (
	"debug/elf"
	"errors"
	"fmt"
)

// Dynamic is what an ELF program or a shared library tells the dynamic linker.
type Dynamic struct {
	Needs    []string // libraries that it needs, by the names of their files
	Paths    []string // lists of directories where these are looked for first, with $ORIGIN as it is written
	Imports  []string // symbols that others define
	Exports  []string // symbols that others may use
	Versions []string // versions of symbols that it defines
}

// ReadDynamic reads the file at path. A statically linked program has an empty Dynamic.
func ReadDynamic(path string) (*Dynamic, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	d, err := dynamicOf(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func dynamicOf(f *elf.File) (*Dynamic, error) {
	var d Dynamic
	var err error
	if d.Needs, err = f.DynString(elf.DT_NEEDED); err != nil {
		return nil, err
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		paths, err := f.DynString(tag)
		if err != nil {
			return nil, err
		}
		d.Paths = append(d.Paths, paths...)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	for i := range symbols {
		if symbols[i].Section == elf.SHN_UNDEF {
			d.Imports = append(d.Imports, symbols[i].Name)
		} else {
			d.Exports = append(d.Exports, symbols[i].Name)
		}
	}
	if f.SectionByType(elf.SHT_GNU_VERDEF) == nil {
		return &d, nil
	}
	versions, err := f.DynamicVersions()
	for i := range versions {
		d.Versions = append(d.Versions, versions[i].Name)
	}
	return &d, err
}

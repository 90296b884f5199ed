package objfile

import (
	"crypto/sha256"
	"debug/elf"
	"errors"
	"io"

	"github.com/cairnprof/cairn/prof"
)

// LoadedSection is a section that is loaded when the module runs.
type LoadedSection struct {
	Name   string
	Addr   uint64 // link-time address
	Size   uint64 // bytes in memory
	Offset uint64 // in the file; meaningless without InFile
	InFile bool   // it has contents in the file, unlike .bss
	Code   bool   // it is executable
}

// LoadedSections returns the sections that are loaded when the module runs, in file order.
func (f *File) LoadedSections() []LoadedSection {
	var out []LoadedSection
	for _, s := range f.elf.Sections {
		// Thread-local data has addresses, but is not at these addresses.
		if s.Flags&elf.SHF_ALLOC != 0 && s.Size != 0 && (s.Flags&elf.SHF_TLS == 0 || s.Type != elf.SHT_NOBITS) {
			out = append(out, LoadedSection{
				Name: s.Name, Addr: s.Addr, Size: s.Size, Offset: s.Offset,
				InFile: s.Type != elf.SHT_NOBITS, Code: s.Flags&elf.SHF_EXECINSTR != 0,
			})
		}
	}
	return out
}

// Entry returns the link-time address of the entry point, or 0 if there is none.
func (f *File) Entry() uint64 { return f.elf.Entry }

// IdentifiedMap is FunctionMap that also accepts a module without a build id. It then uses the
// first 20 bytes of the SHA-256 of the whole file instead; derived reports this.
func (f *File) IdentifiedMap() (m *prof.Map, derived bool, err error) {
	id, err := f.RecordedID()
	if errors.Is(err, ErrNoBuildID) {
		derived = true
		id, err = f.contentID()
	}
	if err != nil {
		return nil, false, err
	}
	m, err = f.functionMap(id)
	return m, derived, err
}

// contentID returns the substitute of a build id.
func (f *File) contentID() (prof.BuildID, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f.f, 0, int64(f.size))); err != nil {
		return "", err
	}
	return prof.BuildID(h.Sum(nil)[:maxMapID]), nil
}

package objfile

import (
	"crypto/sha256"
	"debug/elf"
	"errors"
	"io"

	"github.com/cairnprof/cairn/prof"
)

// LoadedSection is a section that is in memory when the module runs.
type LoadedSection struct {
	Name   string
	Addr   uint64 // link-time address
	Size   uint64 // bytes in memory
	Offset uint64 // where it is in the file; of no meaning without InFile
	InFile bool   // it has contents, unlike .bss
	Code   bool   // it is executable
}

// LoadedSections returns the sections that are in memory when the module runs,
// in the order of the file.
func (f *File) LoadedSections() []LoadedSection {
	var out []LoadedSection
	for _, s := range f.elf.Sections {
		// Thread-local data has addresses, but is not there.
		if s.Flags&elf.SHF_ALLOC != 0 && s.Size != 0 && (s.Flags&elf.SHF_TLS == 0 || s.Type != elf.SHT_NOBITS) {
			out = append(out, LoadedSection{
				Name: s.Name, Addr: s.Addr, Size: s.Size, Offset: s.Offset,
				InFile: s.Type != elf.SHT_NOBITS, Code: s.Flags&elf.SHF_EXECINSTR != 0,
			})
		}
	}
	return out
}

// Entry returns the link-time address that the module starts at, 0 if none.
func (f *File) Entry() uint64 { return f.elf.Entry }

// IdentifiedMap is FunctionMap that also takes a module without a build id. It
// stands in for one with the first 20 bytes of the SHA-256 of the whole file;
// derived says so.
func (f *File) IdentifiedMap() (m *prof.Map, derived bool, err error) {
	id, err := f.BuildID()
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

// contentID returns what stands in for a build id.
func (f *File) contentID() (prof.BuildID, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f.f, 0, int64(f.size))); err != nil {
		return "", err
	}
	return prof.BuildID(h.Sum(nil)[:maxMapID]), nil
}

package objfile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

const (
	noteGNUBuildID = 3
	maxBuildID     = 64 // bytes; ld writes 16 or 20, or those of --build-id=0x...
)

// BuildID returns the module's GNU build id, the UUID of a Mach-O file, or the GUID and age of a PE file. If there is none,
// the error is ErrNoBuildID, prefixed with the path.
func (f *File) BuildID() (prof.BuildID, error) {
	if f.elf.identity != "" {
		if len(f.elf.id) == 0 {
			return "", fmt.Errorf("%s: %w (%s)", f.path, ErrNoBuildID, f.elf.identity)
		}
		return prof.BuildID(f.elf.id), nil
	}
	// Sections first: in a file made by objcopy --only-keep-debug the program headers still
	// describe the original file.
	for _, s := range f.elf.Sections {
		if s.Type == elf.SHT_NOTE && s.FileSize <= maxNotes {
			if data, err := f.read(s); err == nil {
				if id, ok := findBuildID(data, s.Addralign); ok {
					return id, nil
				}
			}
		}
	}
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_NOTE && p.Filesz <= maxNotes {
			data := make([]byte, p.Filesz)
			if _, err := io.ReadFull(io.NewSectionReader(f.f, int64(p.Off), int64(p.Filesz)), data); err == nil {
				if id, ok := findBuildID(data, p.Align); ok {
					return id, nil
				}
			}
		}
	}
	return "", fmt.Errorf("%s: %w", f.path, ErrNoBuildID)
}

// RecordedID returns as much of BuildID as raw files, logs, maps and profiles have. Linkers write longer ones when they are
// given as such: --build-id=0x...
func (f *File) RecordedID() (prof.BuildID, error) {
	id, err := f.BuildID()
	return id[:min(len(id), wire.MaxBuildID)], err
}

// LogID returns the identity that logs of the file have: that of RecordedID, but of a program for Windows without one, as linkers of
// mingw-w64 make them, one that is made from the whole file; derived reports this.
func (f *File) LogID() (id prof.BuildID, derived bool, err error) {
	if id, err = f.RecordedID(); err != nil && f.elf.windows != nil {
		derived = true
		id, err = f.contentID()
	}
	return id, derived, err
}

// findBuildID walks a sequence of notes: u32 name size, u32 descriptor size,
// u32 type, name, descriptor, both padded to the alignment, 4 or 8.
func findBuildID(notes []byte, align uint64) (prof.BuildID, bool) {
	if align != 8 {
		align = 4
	}
	pad := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	le := binary.LittleEndian
	for len(notes) >= 12 {
		nameSize, descSize := uint64(le.Uint32(notes)), uint64(le.Uint32(notes[4:]))
		kind := le.Uint32(notes[8:])
		desc := pad(12 + nameSize)
		end := desc + descSize
		if end > uint64(len(notes)) {
			return "", false
		}
		if kind == noteGNUBuildID && string(notes[12:12+nameSize]) == "GNU\x00" && descSize > 0 && descSize <= maxBuildID {
			return prof.BuildID(notes[desc:end]), true
		}
		notes = notes[min(pad(end), uint64(len(notes))):]
	}
	return "", false
}

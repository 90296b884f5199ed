package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/verb"
)

// recordsInMap are the formats whose map has the records of units as well: where it is in an object, and the text of an
// object that has nothing else.
var recordsInMap = map[asm.Object]struct {
	read func(r *io.SectionReader) ([]byte, error)
	text func(data []byte) []byte
}{
	asm.MachO: {func(r *io.SectionReader) ([]byte, error) { return objfile.MachOSection(r, wire.MapMachO) }, probe.MachORecord},
	asm.COFF:  {func(r *io.SectionReader) ([]byte, error) { return objfile.COFFSection(r, wire.MapCOFF) }, probe.COFFRecord},
}

// mapAssembler makes objects that are not ELF.
type mapAssembler struct {
	streams  *verb.Streams
	object   asm.Object
	msvc     bool   // the system is MSVC's
	compiler string // its path
	target   []string
}

// record returns the arguments that add to a link the records of members of archives, which its linker need
// not take; none if there are none. A link without them is as good, so that an error is a note.
func (a mapAssembler) record(ctx context.Context, inputs []linkInput, output string) []string {
	path, err := a.recordObject(ctx, inputs, output)
	switch {
	case err != nil:
		verb.Note(a.streams, "%s will not have the record of functions that are not linked: %v", output, err)
		return nil
	case path == "":
		return nil
	}
	return []string{path}
}

func (a mapAssembler) recordObject(ctx context.Context, inputs []linkInput, output string) (string, error) {
	var data []byte
	for _, in := range inputs {
		if in.path == "" || in.system {
			continue
		}
		err := objfile.EachLinkInput(in.path, func(archive bool, member string, body *io.SectionReader) error {
			if !archive {
				return nil
			}
			section, err := recordsInMap[a.object].read(body)
			if err != nil {
				return nil // the linker reports what is wrong
			}
			units, err := mip.ReadUnits(mip.UnitsOfMap(section))
			if err != nil {
				return fmt.Errorf("%s: %s: %w", in.path, member, err)
			}
			for i := range units {
				units[i].Unlinked = true
				nameArchive(&units[i], filepath.Base(in.path))
				if data, err = mip.AppendUnit(data, &units[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if len(data) == 0 {
		return "", nil
	}
	return a.place(ctx, data, output)
}

// place returns the path of an object with records of units.
func (a mapAssembler) place(ctx context.Context, data []byte, output string) (string, error) {
	mip.MarkUnitsOfMap(data)
	tmp, err := os.MkdirTemp("", "cairn-record-")
	if err != nil {
		return "", err
	}
	defer verb.RemoveAll(tmp)
	made := filepath.Join(tmp, "record.o")
	cmd := exec.CommandContext(ctx, a.compiler, append(slices.Clone(a.target), "-c", "-x", "assembler", "-Wno-unused-command-line-argument", "-o", made, "-")...)
	text := recordsInMap[a.object].text
	if a.msvc {
		text = probe.MSVCRecord
	}
	cmd.Stdin = bytes.NewReader(text(data))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("assembling it: %w: %s", err, bytes.TrimSpace(out))
	}
	record, err := os.ReadFile(made)
	if err != nil {
		return "", err
	}
	return placeRecord(a.streams, record, output)
}

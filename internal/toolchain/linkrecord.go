package toolchain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Objects have records of what was compiled (wire.UnitSection), which the linker joins for what it links. Members
// of archives that it does not take would be forgotten, and with --gc-sections GNU ld drops the record of an
// object with all its functions. So the link gets one more object, with the records of these, marked as units
// from which nothing need be linked.

// linkInput is an input of a link that may have such records.
type linkInput struct {
	path   string
	system bool // it belongs to the compiler or the system
	script bool // a linker script names it
	// whole reports that the linker takes the object, and may still drop its records.
	whole bool
	// plugin reports that the linker may start a compiler for objects that have code for it and machine code.
	plugin bool
}

// recordsUnits reports whether objects have records of their units: those of modes with maps, of ELF.
func (o *ShimOptions) recordsUnits(tc driver.Toolchain) bool {
	return o.Use == nil && !o.Mode.Timed() && tc.Object == asm.ELF
}

// driverInputs returns the inputs of a link by a driver.
func driverInputs(cmd *driver.Command) []linkInput {
	words, dirs := cmd.Inputs()
	var inputs []linkInput
	for _, w := range words {
		path := w.Name
		if w.Lib {
			path = findLibrary(&driver.LinkerWord{Value: w.Name, Static: w.Static}, dirs)
		}
		inputs = append(inputs, linkInput{path: path, system: systemInput(path, cmd.Sysroot()), whole: cmd.GC, plugin: !cmd.NoLTO})
	}
	return inputs
}

// linkerInputs returns the inputs of a link by a linker that the build starts itself.
func linkerInputs(args []string) (inputs []linkInput, output string) {
	line := driver.ParseLinker(args, ReadResponse)
	return inputsOfLine(&line)
}

func inputsOfLine(line *driver.LinkerLine) (inputs []linkInput, output string) {
	dirs, root := line.Dirs(), cmp.Or(line.Value("sysroot"), line.Value("syslibroot"))
	for i := range line.Words {
		w := &line.Words[i]
		if w.Option == "T" || w.Option == "script" {
			inputs = append(inputs, linkInput{path: w.Value, system: systemInput(w.Value, root), whole: line.Has("gc-sections")})
		}
		if !w.Input() || w.Binary {
			continue
		}
		path := w.Value
		if w.Lib {
			path = findLibrary(w, dirs)
		}
		inputs = append(inputs, linkInput{path: path, system: systemInput(path, root), whole: line.Has("gc-sections")})
	}
	return inputs, line.Value("o", "output")
}

// linkRecord returns the arguments that add the object to a link, none if it needs none. A link without the
// object is as good, so that an error is a note.
// merges reports that it makes one object of several (-r), which has their records but not those of objects without
// any: a later link would take it for an object with probes.
// all reports that the linker takes all members of some archives, or has inputs that are not among these.
func linkRecord(s *verb.Streams, inputs []linkInput, output string, merges, all bool) []string {
	if output == "" {
		output = "a.out"
	}
	path, err := recordObject(s, inputs, output, merges, all)
	switch {
	case err != nil:
		verb.Note(s, "%s will not have the record of functions that are not linked: %v", output, err)
		return nil
	case path == "":
		return nil
	}
	return []string{path}
}

// recordObject returns the path of the object for a link, "" if it needs none. The linker reports files that do
// not exist.
func recordObject(s *verb.Streams, inputs []linkInput, output string, merges, all bool) (string, error) {
	r := unitRecords{merges: merges, lto: ltoLink{all: all}}
	for _, in := range inputs {
		if in.path == "" {
			continue
		}
		if err := r.read(in); err != nil {
			return "", err
		}
	}
	if len(r.given) > 0 && !merges {
		if err := logEvent(buildEvent{linkEvent: linkEvent{Given: r.given}}); err != nil {
			return "", err
		}
	}
	if len(r.lto.units) > 0 {
		var paths []string
		for _, in := range inputs {
			if in.path != "" && !in.system {
				paths = append(paths, in.path)
			}
		}
		var err error
		if r.data, err = r.lto.record(r.data, paths); err != nil {
			return "", err
		}
	}
	if len(r.data) == 0 || merges && !r.found {
		return "", nil
	}
	if len(r.unprobed) > 0 {
		if err := logEvent(buildEvent{linkEvent: linkEvent{Linked: r.unprobed}}); err != nil {
			return "", err
		}
	}
	object, err := objfile.OneSection(bytes.NewReader(r.like), wire.UnitSection, r.data)
	if err != nil {
		return "", err
	}
	return placeRecord(s, object, output)
}

// unitRecords are the records of a link.
type unitRecords struct {
	merges   bool // the link makes one object, and takes all records itself
	found    bool // an input has a record
	data     []byte
	like     []byte         // an object of those of which data has records
	unprobed []linkedObject // those that no stand-in of ours has seen
	rust     rustLibrary
	lto      ltoLink
	given    []string // sources of all units that the link can take, and of those that its driver compiles
}

// read adds the records of an input.
func (r *unitRecords) read(in linkInput) error {
	logged := os.Getenv(catch.EnvLog) != "" // by a build, whose summary has the files that no link was given
	if logged {
		if path := pathOf(in.path); path != "" {
			r.given = append(r.given, path)
		}
	}
	at := inputPlace{in.path, -1}
	err := objfile.EachLinkInput(in.path, func(archive bool, member string, body *io.SectionReader) error {
		if archive {
			at.member++
		}
		data, err := objfile.SectionOf(body, wire.UnitSection)
		if err != nil {
			return err
		}
		if is, err := r.readLTO(in, at, member, body, data != nil); is || err != nil {
			return err
		}
		if data == nil && !in.system {
			return r.readUnprobed(in, archive, member, body)
		}
		r.found = r.found || data != nil
		if data == nil || r.merges || !archive && !in.whole && !logged {
			return nil
		}
		units, err := mip.ReadUnits(data)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", in.path, member, err)
		}
		for i := range units {
			r.given = append(r.given, units[i].File)
		}
		if !archive && !in.whole {
			return nil
		}
		for i := range units {
			if err := r.add(&units[i], archive, filepath.Base(in.path)); err != nil {
				return err
			}
		}
		return r.likeThis(body)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readLTO adds the code of an object that the linker's compiler makes, and reports whether it did. The object may
// have machine code as well.
func (r *unitRecords) readLTO(in linkInput, at inputPlace, member string, body *io.SectionReader, fat bool) (bool, error) {
	if in.system || r.merges || fat && !in.plugin || hasMagic(body) {
		return false, nil // lld's stand-in records bitcode
	}
	if fat {
		data, err := objfile.SectionOf(body, wire.LTOSection)
		if data == nil || err != nil {
			return false, err
		}
	}
	is, err := r.lto.add(at, member, body)
	if !is || err != nil {
		return false, nil // the linker may accept what cannot be read here
	}
	r.found = true
	if u := r.lto.units[len(r.lto.units)-1].unit; os.Getenv(catch.EnvLog) != "" {
		r.given = append(r.given, u.File)
	}
	return true, r.likeThis(body)
}

// likeThis remembers an object whose machine and notes are those of the link.
func (r *unitRecords) likeThis(body *io.SectionReader) (err error) {
	if r.like == nil {
		r.like, err = io.ReadAll(io.NewSectionReader(body, 0, body.Size()))
	}
	return err
}

// add adds a unit of an archive, or of an object.
func (r *unitRecords) add(u *prof.Unit, archive bool, name string) (err error) {
	if u.Unlinked = archive; archive {
		nameArchive(u, name)
	}
	r.data, err = mip.AppendUnit(r.data, u)
	return err
}

const (
	// recordDir has the objects with records, one for each output of a link: the files in which builds note
	// what a program depends on name them.
	recordDir = "units"
	// maxRecords is the number of objects from which on those that are older than recordAge are removed.
	maxRecords = 2000
	recordAge  = 30 * 24 * time.Hour
)

// placeRecord writes the object for the link of an output, unless it is there with the same content: builds
// compare times.
func placeRecord(s *verb.Streams, object []byte, output string) (string, error) {
	cache, err := verb.CacheDir()
	if err != nil {
		return "", err
	}
	if output, err = filepath.Abs(output); err != nil {
		return "", err
	}
	key := sha256.Sum256([]byte(output))
	dir := filepath.Join(cache, recordDir)
	path := filepath.Join(dir, hex.EncodeToString(key[:8])+".o")
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, object) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	pruneRecords(dir)
	return path, verb.WriteBytes(s, path, object)
}

// pruneRecords removes old objects if there are many.
func pruneRecords(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < maxRecords {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > recordAge {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

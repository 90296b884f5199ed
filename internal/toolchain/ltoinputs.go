package toolchain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/bitcode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/driver"
)

// ltoInputs is the bitcode among the inputs of a link.
type ltoInputs struct {
	modules []*bitcode.Module // in the order of the link, members of archives included
	words   map[int]*ltoInput // by number of the word on the command line, those with bitcode
	apple   bool              // it is for Mach-O
	arch    string            // the machine that a linker of Mach-O was given, "" if none
	hidden  map[string]bool   // for each defined name, whether --exclude-libs hides it
}

// ltoInput is an input with bitcode.
type ltoInput struct {
	path    string
	archive bool
	native  bool // an archive that has members without bitcode as well
	// universal reports that it has code for several machines.
	universal bool
	thin      []thinModule
}

// thinModule is a module that is compiled by itself.
type thinModule struct {
	member string // name in the archive, as lld uses it in names of outputs
	source string
}

// maxBitcode bounds the size of a module; larger ones do not occur in practice.
const maxBitcode = 4 << 30

// bitcodeInputs looks for bitcode in all inputs.
func bitcodeInputs(line *driver.LinkerLine) (*ltoInputs, error) {
	in := &ltoInputs{words: map[int]*ltoInput{}, apple: line.Apple, arch: line.Value("arch"), hidden: map[string]bool{}}
	dirs, fat, excluded := line.Dirs(), line.Fat(), line.ExcludedLibs()
	for i := range line.Words {
		w := &line.Words[i]
		if !w.Input() || w.Binary {
			continue
		}
		path := w.Value
		if w.Lib {
			path = findLibrary(w, dirs)
		}
		// lld reports files that do not exist.
		if err := in.scan(i, path, fat, excluded); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return in, nil
}

// findLibrary returns the path of the library of a word, "" if there is none.
func findLibrary(w *driver.LinkerWord, dirs []string) string {
	for _, dir := range dirs {
		for _, name := range w.LibraryNames() {
			if path := filepath.Join(dir, name); Exists(path) {
				return path
			}
		}
	}
	return ""
}

func (in *ltoInputs) scan(word int, path string, fat bool, excluded func(path string) bool) error {
	if path == "" {
		return nil
	}
	input := &ltoInput{path: path}
	found := false
	universal, err := objfile.EachSlice(path, in.arch, func(archive bool, member string, r *io.SectionReader) error {
		input.archive = archive
		data, err := bitcodeOf(r, fat)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, member, err)
		}
		if data == nil {
			input.native = true
			return nil
		}
		m, err := bitcode.Read(data)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, member, err)
		}
		found = true
		in.modules = append(in.modules, m)
		in.define(m, archive && excluded(path))
		if m.Kind == bitcode.Thin {
			input.thin = append(input.thin, thinModule{member, m.Source})
		}
		return nil
	})
	if input.universal = universal; found {
		in.words[word] = input
	}
	return err
}

// define records the names of a module. The first definition counts.
func (in *ltoInputs) define(m *bitcode.Module, hidden bool) {
	for i := range m.Symbols {
		s := &m.Symbols[i]
		if _, seen := in.hidden[s.Name]; s.Defined && !s.Local && !seen {
			in.hidden[s.Name] = hidden
		}
	}
}

// hide appends directives to assembly that hide names from hidden archives: the linker no longer sees in which
// archive the object was.
func (in *ltoInputs) hide(src []byte) []byte {
	var names []string
	for line := range bytes.Lines(src) {
		if name, _, ok := bytes.Cut(line, []byte(":")); ok && name[0] != '\t' && in.hidden[string(name)] {
			names = append(names, string(name))
		}
	}
	for _, name := range names {
		src = append(src, "\t.hidden\t"+name+"\n"...)
	}
	return src
}

// bitcodeOf returns the bitcode of an object, nil if it has none that the linker would take.
func bitcodeOf(r *io.SectionReader, fat bool) ([]byte, error) {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n < 4 {
		return nil, nil
	}
	switch {
	case bitcode.Is(magic[:]):
		if r.Size() > maxBitcode {
			return nil, fmt.Errorf("a module of %d bytes", r.Size())
		}
		return io.ReadAll(r)
	case fat:
		data, err := objfile.FatBitcode(r)
		if err != nil || !bitcode.Is(data) {
			return nil, err
		}
		return data, nil
	}
	return nil, nil
}

// hasBitcode reports whether a driver links bitcode.
func hasBitcode(cmd *driver.Command) bool {
	inputs, dirs := cmd.Inputs()
	for _, input := range inputs {
		if slices.Contains(cmd.Codes, input.Name) {
			continue // clang compiles it
		}
		paths := []string{input.Name}
		if input.Lib {
			paths = nil
			for _, dir := range dirs {
				paths = append(paths, filepath.Join(dir, "lib"+input.Name+".a"))
			}
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if holdsBitcode(path) {
				return true
			}
		}
	}
	return false
}

var errFound = errors.New("found")

func holdsBitcode(path string) bool {
	_, err := objfile.EachSlice(path, "", func(_ bool, _ string, r *io.SectionReader) error {
		if hasMagic(r) {
			return errFound
		}
		return nil
	})
	return errors.Is(err, errFound)
}

// hasMagic reports whether an object begins as bitcode does.
func hasMagic(r io.ReaderAt) bool {
	var magic [4]byte
	n, _ := r.ReadAt(magic[:], 0)
	return n == len(magic) && bitcode.Is(magic[:])
}

// nativeArchive writes the members of an archive that have no bitcode to an archive of their own.
func nativeArchive(from, to string, fat bool) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := out.WriteString("!<arch>\n"); err != nil {
		return err
	}
	err = objfile.EachLinkInput(from, func(_ bool, _ string, r *io.SectionReader) error {
		if data, err := bitcodeOf(r, fat); err != nil || data != nil {
			return err
		}
		// lld reads the symbols of the members themselves, and needs neither names nor a table.
		if _, err := fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", "member.o/", 0, 0, 0, "644", r.Size()); err != nil {
			return err
		}
		if _, err := io.Copy(out, io.NewSectionReader(r, 0, r.Size())); err != nil {
			return err
		}
		if r.Size()%2 == 1 {
			_, err := out.WriteString("\n")
			return err
		}
		return nil
	})
	return errors.Join(err, out.Close())
}

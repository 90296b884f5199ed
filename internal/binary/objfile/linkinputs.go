package objfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// EachLinkInput visits the file at path or, if it is an archive, its members. They can be read
// only during the visit. Members of a thin archive have their path as name.
func EachLinkInput(path string, visit func(archive bool, member string, r *io.SectionReader) error) error {
	f, st, err := openStat(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !st.Mode().IsRegular() {
		return nil
	}
	return eachIn(path, io.NewSectionReader(f, 0, st.Size()), visit)
}

// eachIn visits an object, or the members of an archive.
func eachIn(path string, r *io.SectionReader, visit func(archive bool, member string, r *io.SectionReader) error) error {
	var magic [8]byte
	n, _ := r.ReadAt(magic[:], 0)
	kind := string(magic[:n])
	if kind != arMagic && kind != thinMagic {
		return visit(false, "", r)
	}
	return eachBody(path, r, r.Size(), kind == thinMagic, func(path, member string, r *io.SectionReader) error {
		return visit(true, cmp.Or(member, path), r)
	})
}

// EachSlice visits what EachLinkInput visits, and in a universal file of Mach-O the object, or the members of the archive, of
// a machine as -arch of linkers names it, or of all machines if arch is "". It reports whether the file is universal.
func EachSlice(path, arch string, visit func(archive bool, member string, r *io.SectionReader) error) (universal bool, err error) {
	arch = strings.Replace(arch, "x86_64h", "x86_64", 1) // archName has one name for both
	err = EachLinkInput(path, func(archive bool, member string, r *io.SectionReader) error {
		if archive {
			return visit(archive, member, r)
		}
		parts, err := readSlices(r, uint64(r.Size()))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if len(parts) == 0 {
			return visit(archive, member, r)
		}
		universal = true
		for _, part := range parts {
			if arch != "" && part.Arch != arch {
				continue
			}
			if err := eachIn(path, io.NewSectionReader(r, int64(part.offset), int64(part.size)), visit); err != nil {
				return err
			}
		}
		return nil
	})
	return universal, err
}

// fatSection is the section of bitcode in objects with machine code by clang
// -ffat-lto-objects.
const fatSection = ".llvm.lto"

// FatBitcode returns the bitcode of an object that also has machine code, or nil if there is
// none or it is not an ELF object.
func FatBitcode(r io.ReaderAt) ([]byte, error) {
	return SectionOf(r, fatSection)
}

// eachBody iterates over an archive. The members of a thin archive are separate files, whose
// paths are passed.
func eachBody(path string, r io.ReaderAt, size int64, thin bool, visit func(path, member string, r *io.SectionReader) error) error {
	var names string // of members with long names
	h := make([]byte, arHeader)
	for at := int64(len(arMagic)); at+arHeader <= size; {
		if _, err := r.ReadAt(h, at); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, n, err := memberHeader(h, names)
		special := name == "/" || name == "//" || name == "/SYM64/" || name == ""
		stored := !thin || special
		if err != nil || stored && n > size-at-arHeader || name == "//" && n > maxTable {
			return fmt.Errorf("%s: damaged archive member at offset %d", path, at)
		}
		body := io.NewSectionReader(r, at+arHeader, n)
		if !special && stored {
			if name, body, err = longName(name, body); err != nil {
				return fmt.Errorf("%s: damaged archive member at offset %d", path, at)
			}
			special = strings.HasPrefix(name, "__.SYMDEF") // the table of symbols
		}
		at += arHeader
		if stored {
			at += n + n&1
		}
		switch {
		case name == "//":
			text, err := io.ReadAll(body)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			names = string(text)
		case special:
		case thin:
			// Archives in archives are skipped, because an archive could refer to itself.
			if err = visitFile(beside(path, name), visit); err != nil {
				return err
			}
		default:
			if err = visit(path, name, body); err != nil {
				return err
			}
		}
	}
	return nil
}

// longName returns the name and the body of a member whose name is at the start of its body, as in archives of BSD
// and macOS, and other members as they are.
func longName(name string, body *io.SectionReader) (string, *io.SectionReader, error) {
	digits, ok := strings.CutPrefix(name, "#1/")
	if !ok {
		return name, body, nil
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n > maxTable || int64(n) > body.Size() {
		return "", nil, fmt.Errorf("a name of %s bytes", digits)
	}
	text := make([]byte, n)
	if _, err := body.ReadAt(text, 0); err != nil {
		return "", nil, err
	}
	return strings.TrimRight(string(text), "\x00"), io.NewSectionReader(body, int64(n), body.Size()-int64(n)), nil
}

// openStat opens the file at path and returns its FileInfo.
func openStat(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

func visitFile(path string, visit func(path, member string, r *io.SectionReader) error) error {
	f, st, err := openStat(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return visit(path, "", io.NewSectionReader(f, 0, st.Size()))
}

// visitMember calls visit with an archive's member, with nil if it is bitcode, and does not
// call it for members of other kinds.
func visitMember(path, member string, r *io.SectionReader, visit func(im *Image, member string) error) error {
	if hasBitcode(r) {
		return visit(nil, member)
	}
	im, err := readImage(path, r, uint64(r.Size()), nil)
	if errors.Is(err, ErrNotELF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: member %s: %w", path, member, err)
	}
	return visit(im, member)
}

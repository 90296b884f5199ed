// Package nativert holds the C and assembly sources of the runtime that is
// linked into instrumented programs, and the public header cairn.h. Sources
// lists them with the header generated from package wire, and how to compile
// them; it runs nothing.
package nativert

import (
	"bytes"
	"embed"
	"strconv"

	"github.com/cairnprof/cairn/format/mip/wire"
)

//go:embed c/wire.h c/sys.h c/elf.h c/rt.c c/rt_kernel.h c/rt_module.h c/rt_name.h c/rt_header.h c/rt_mapped.h c/mapped.S c/image.ld c/record.h c/first.S c/order.S c/cairn.h c/cairn_mark.h
var files embed.FS

// sources are the names of the files of the runtime of records.
var sources = []string{
	"rt.c", "rt_kernel.h", "rt_module.h", "rt_name.h", "rt_header.h", "rt_mapped.h", "mapped.S", "image.ld",
	"record.h", "first.S", "order.S", "cairn.h",
}

// File is a source file of the runtime.
type File struct {
	Name string
	Data []byte
}

// Object is a member of the runtime's archive and the compiler's arguments
// for it, less -c and -o.
type Object struct {
	Name string
	Args []string
}

// Flags are the compiler's flags for every object: position independent, so
// that one archive serves executables and shared objects, marked as fine with
// CET, and without tables that nothing needs.
var Flags = []string{
	"-fPIC", "-ffreestanding", "-fno-builtin", "-fvisibility=hidden", "-fcf-protection=full",
	"-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions",
	"-fno-ident", "-fomit-frame-pointer", "-fno-lto", "-fno-sanitize=all", "-g0", "-w", "-m64",
}

// Sources returns the source files.
func Sources() []File {
	var out []File
	for _, name := range append([]string{"wire.h", "sys.h", "elf.h"}, sources...) {
		data, err := files.ReadFile("c/" + name)
		if err != nil {
			panic(err) // embedded above
		}
		out = append(out, File{name, data})
	}
	return append(out, timedSources()...)
}

// Header returns cairn.h, the header for instrumented programs, as one file: with
// cairn_mark.h where that is included.
func Header() []byte {
	var parts [2][]byte
	for i, name := range []string{"c/cairn.h", "c/cairn_mark.h"} {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err) // embedded above
		}
		parts[i] = data
	}
	return bytes.Replace(parts[0], []byte("#include \"cairn_mark.h\"\n"), parts[1], 1)
}

// Objects lists the members of the archive for modes that record. Each first-call path is one of its
// own, so that a program links only what its mode uses. defaultDir is where raw
// files go while CAIRN_DIR is unset; "" means that none are written.
func Objects(defaultDir string) []Object {
	return append(firstObjects(), Object{"rt.o", []string{runtimeDir(defaultDir), "rt.c"}}, Object{"order.o", []string{"order.S"}})
}

func runtimeDir(defaultDir string) string { return "-DCAIRN_DEFAULT_DIR=" + strconv.Quote(defaultDir) }

func firstObjects() []Object {
	return []Object{
		{"first_count.o", []string{"-DNAME=__cairn_first_count", "-DFULL=0", "first.S"}},
		{"first_full.o", []string{"-DNAME=__cairn_first_full", "-DFULL=1", "first.S"}},
	}
}

// mapped has sources compiled for programs that map the runtime from a file.
const mapped = "-DCAIRN_MAPPED=1"

// MappedObjects is Objects for programs that map the runtime from the file of that path
// when they start. The file is an Image, and must be of this version of cairn.
func MappedObjects(path string) []Object {
	return append(firstObjects(),
		Object{"mapped.o", []string{"-DCAIRN_RUNTIME=" + strconv.Quote(path), "mapped.S"}},
		Object{"order_mapped.o", []string{mapped, "order.S"}})
}

// Image returns the object that such a file is made of, by a link with ImageLinkFlags. The
// file is section ImageSection of what that makes, byte for byte.
func Image(defaultDir string) Object {
	return Object{"image.o", []string{mapped, runtimeDir(defaultDir), "rt.c"}}
}

// ImageSection is the section that an Image is linked into.
const ImageSection = ".image"

// ImageLinkFlags are those of the compiler's driver that links an Image.
var ImageLinkFlags = []string{"-nostdlib", "-static", "-no-pie", "-Wl,-T,image.ld", "-Wl,--build-id=none", "-Wl,-e,enter"}

// Hidden returns a version script for GNU ld, which gives shared objects dynamic symbols
// for the bounds of our sections, though all that refers to them says they are hidden.
func Hidden() []byte {
	var b bytes.Buffer
	b.WriteString("{ local:")
	for _, section := range []string{wire.RawSection, wire.OrderSection, "cairn_channels", "cairn_hook"} {
		b.WriteString(" __start_" + section + "; __stop_" + section + ";")
	}
	b.WriteString(" };\n")
	return b.Bytes()
}

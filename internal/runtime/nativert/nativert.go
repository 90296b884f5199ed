// Package nativert holds the C and assembly sources of the runtime that is
// linked into instrumented programs, and the public header cairn.h. Sources
// lists them with the header generated from package wire, and how to compile
// them; it runs nothing.
package nativert

import (
	"bytes"
	_ "embed"
	"slices"
	"strconv"
	"sync"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/packed"
)

//go:embed sources.zst
var archive string

// files are the files below c, compressed in the program. To have changes in it:
//
//	go test ./internal/runtime/nativert -run Header -update
var files = sync.OnceValue(func() packed.Files { return packed.Unpack(archive) })

// Machine is what a runtime is compiled for.
type Machine string

// Machines that have a runtime.
const (
	X86_64  Machine = "x86_64"
	AArch64 Machine = "aarch64"
	Arm     Machine = "arm" // Armv7
)

// source returns the name of the file of a machine that has assembly.
func (m Machine) source(name string) string { return name + "_" + string(m) + ".S" }

// File is a source file of the runtime.
type File = packed.File

// Object is a member of the runtime's archive and the compiler's arguments
// for it, less -c and -o.
type Object struct {
	Name string
	Args []string
}

// Flags returns the compiler's flags for every object: position independent, so
// that one archive serves executables and shared objects, marked as compatible
// with protection of branches and returns, and without unneeded tables.
func Flags(m Machine) []string {
	guards := []string{"-fcf-protection=full", "-m64"}
	switch m {
	case Arm:
		// The objects go with programs of any state and float ABI: see ANY_FLOATS.
		guards = []string{"-march=armv7-a", "-mthumb", "-mfloat-abi=soft"}
	case AArch64:
		// Atomic operations are loops in place of calls of libgcc, which not all programs have.
		// Android reserves register x18.
		guards = []string{"-mbranch-protection=standard", "-mno-outline-atomics", "-ffixed-x18"}
	}
	return append(guards,
		"-fPIC", "-ffreestanding", "-fno-builtin", "-fvisibility=hidden",
		"-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions",
		"-fno-ident", "-fomit-frame-pointer", "-fno-lto", "-fno-sanitize=all", "-g0", "-w")
}

// Sources returns the source files, in one directory.
func Sources() []File {
	return slices.Concat(files().In("c"), files().In("c/macho"), files().In("c/coff"), timedSources())
}

// Header returns cairn.h, the header for instrumented programs, as one file: the headers that it
// includes replace the directives.
func Header() []byte {
	read := func(name string) []byte {
		data, err := files().Read("c/" + name)
		if err != nil {
			panic(err) // embedded above
		}
		return data
	}
	header := read("cairn.h")
	for _, name := range []string{"cairn_bundle.h", "cairn_mark.h"} {
		header = bytes.Replace(header, []byte("#include \""+name+"\"\n"), read(name), 1)
	}
	return header
}

// Objects lists the members of the archive for modes that record. Each first-call path is a separate
// member, so that a program links only what its mode uses. defaultDir is where raw
// files go while CAIRN_DIR is unset; "" means that none are written.
func Objects(m Machine, defaultDir string) []Object {
	return slices.Concat(firstObjects(m), []Object{
		{"single.o", []string{"single.c"}},
		{"rt.o", []string{runtimeDir(defaultDir), "rt.c"}},
		{"order.o", []string{m.source("order")}},
	}, pageEnds)
}

// pageEnds make the sections of records and of the order buffer fill whole pages.
var pageEnds = []Object{
	{"page_end.o", []string{pageEnd}},
	{"order_end.o", []string{"-DCAIRN_ORDER=1", pageEnd}},
}

const pageEnd = "page_end.S"

// LastObjects are objects that do so in links whose linker does not place the archive's last: one for the records, and,
// if order is set, one for the order buffer. With reversed, the linker reverses the order of the parts of a section.
func LastObjects(order, reversed bool) []Object {
	prefix, flags := "last_", []string{"-DCAIRN_LAST=1"}
	if reversed {
		prefix, flags = "first_", append(flags, "-DCAIRN_REVERSED=1")
	}
	var out []Object
	for _, o := range pageEnds {
		out = append(out, Object{prefix + o.Name, slices.Concat(flags, o.Args)})
	}
	if !order {
		return out[:1]
	}
	return out
}

func runtimeDir(defaultDir string) string { return "-DCAIRN_DEFAULT_DIR=" + strconv.Quote(defaultDir) }

// firstObjects lists the first-call paths of counting probes. Atomic probes that count before
// they test the old value have separate routines.
func firstObjects(m Machine, flags ...string) []Object {
	out := []Object{
		{"first_count.o", []string{"-DNAME=__cairn_first_count", "-DFULL=0", m.source("first")}},
		{"first_full.o", []string{"-DNAME=__cairn_first_full", "-DFULL=1", m.source("first")}},
	}
	if m == AArch64 {
		out = append(out,
			Object{"first_count_atomic.o", []string{"-DNAME=__cairn_first_count_atomic", "-DFULL=0", "-DATOMIC=1", m.source("first")}},
			Object{"first_full_atomic.o", []string{"-DNAME=__cairn_first_full_atomic", "-DFULL=1", "-DATOMIC=1", m.source("first")}})
	}
	for i := range out {
		out[i].Args = append(slices.Clone(flags), out[i].Args...)
	}
	return out
}

// mapped has sources compiled for programs that map the runtime from a file.
const mapped = "-DCAIRN_MAPPED=1"

// MappedObjects is Objects for programs that map the runtime from the file of that path
// when they start. The file is an Image of size bytes, and must be of this version of cairn.
func MappedObjects(m Machine, path string, size int) []Object {
	return slices.Concat(firstObjects(m, mapped), []Object{
		{"mapped.o", []string{"-DCAIRN_RUNTIME=" + strconv.Quote(path), "-DCAIRN_RUNTIME_SIZE=" + strconv.Itoa(size), m.source("mapped")}},
		{"order_mapped.o", []string{mapped, m.source("order")}},
	}, pageEnds)
}

// Image returns the object from which such a file is made, by a link with ImageLinkFlags. The
// file is section ImageSection of the link's output, byte for byte.
func Image(defaultDir string) Object {
	return Object{"image.o", []string{mapped, runtimeDir(defaultDir), "rt.c"}}
}

// ImageSection is the section that an Image is linked into.
const ImageSection = ".image"

// ImageLinkFlags returns the flags of the compiler's driver that links an Image: which parts
// of it are on separate pages, and how much room there is.
func ImageLinkFlags(m Machine) []string {
	page, room := "0x1000", "0x10000"
	if m == AArch64 {
		page, room = "0x10000", "0x40000"
	}
	return []string{
		"-nostdlib", "-static", "-no-pie", "-Wl,-T,image.ld", "-Wl,--build-id=none", "-Wl,-e,enter",
		"-Wl,--defsym=page=" + page, "-Wl,--defsym=room=" + room,
	}
}

// Hidden returns a version script for GNU ld, which gives shared objects dynamic symbols
// for the bounds of our sections, although all references to them are hidden.
func Hidden() []byte {
	var b bytes.Buffer
	b.WriteString("{ local:")
	for _, section := range []string{wire.RawSection, wire.OrderSection, "cairn_channels", "cairn_hook"} {
		b.WriteString(" __start_" + section + "; __stop_" + section + ";")
	}
	b.WriteString(" };\n")
	return b.Bytes()
}

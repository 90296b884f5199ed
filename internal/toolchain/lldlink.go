package toolchain

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// msvcLinkerName matches LLVM's linker for MSVC's system, which CMake and others start themselves.
var msvcLinkerName = lazyregexp.New(`^lld-link(?:-\d+(?:\.\d+)*)?$`)

// linkMSVC runs such a linker, with the runtime behind its own arguments. What is not for x86-64 is linked as it is.
func (w *wrapper) linkMSVC(ctx context.Context, s *verb.Streams, path string, args []string) error {
	argv := append([]string{w.calledBy(path)}, args...)
	line := driver.ParseLLDLink(args, ReadResponse, os.Getenv)
	if line.Line.Err != nil {
		return fmt.Errorf("ld: %w", line.Line.Err)
	}
	inputs, _ := inputsOfLine(&line.Line)
	other := func(in linkInput) bool {
		return isObject(in.path) && !madeForX64(in.path) && !holdsBitcode(in.path) || filepath.Base(in.path) == coffObject // which the driver that started it added
	}
	mayRecord := func(in linkInput) bool { return linkedForX64(in.path, w.opts.Shim.Use != nil) }
	if line.Other || w.opts.Shim.Map || !slices.ContainsFunc(inputs, mayRecord) || slices.ContainsFunc(inputs, other) {
		return become(path, argv)
	}
	c, err := clangOf(path)
	if err != nil {
		return err
	}
	shim := w.opts.Shim
	shim.Target = []string{"--target=x86_64-pc-windows-msvc"}
	if shim.Use != nil {
		return w.orderMSVC(ctx, &invocation{streams: s, compiler: c, argv: argv}, shim, path, &line)
	}
	tc, err := prepare(ctx, c, shim, shim.Target)
	if foreign := foreignError(""); errors.As(err, &foreign) {
		return become(path, argv) // nothing that it links has probes
	}
	if err != nil {
		return err
	}
	l := &mixedLink{streams: s, inputs: inputs, runtime: tc.Archive, mode: shim.Mode.String(), output: line.Output, strict: shim.strict()}
	argv = slices.Concat(argv, line.Options(shim.Mode.Timed()), []string{tc.Archive, "kernel32.lib"})
	record := mapAssembler{s, tc.Object, true, c.Path, shim.Target}.record(ctx, l.inputs, line.Output)
	return runLTOLinker(ctx, filepath.Dir(tc.Archive), path, append(argv, record...)[1:], l)
}

// orderMSVC runs such a linker with the order of a profile.
func (w *wrapper) orderMSVC(ctx context.Context, in *invocation, shim ShimOptions, path string, line *driver.LLDLink) error {
	b, err := prepareUse(ctx, in.compiler, shim)
	if other := otherMachine(""); errors.As(err, &other) {
		return become(path, in.argv)
	}
	if err != nil {
		return err
	}
	inputs, _ := inputsOfLine(&line.Line)
	linker := b.linker(ctx, in.compiler, nil)
	linker.refuseOwn(line.Line.OwnOrder())
	link, err := b.linkArgs(in.streams, linker, line.Output, inputs)
	if err != nil {
		return err
	}
	l := &mixedLink{streams: in.streams, inputs: inputs, events: laidEvents(link, line.Output)}
	return l.run(path, append(in.argv, linkByHand(link)...))
}

// isObject reports whether an input is an object by its name, as CMake and Microsoft's tools give it.
func isObject(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".obj" || ext == ".o"
}

// linkedForX64 reports whether an input may have code with probes, or, in a build without any, code that is laid out: archives
// may be all that a link is given.
func linkedForX64(name string, laid bool) bool {
	if madeForX64(name) || holdsBitcode(name) {
		return true
	}
	err := objfile.EachLinkInput(name, func(archive bool, _ string, r *io.SectionReader) error {
		if !archive {
			return nil
		}
		member, err := io.ReadAll(r)
		if err == nil && isX64(member) && (laid || bytes.Contains(member, []byte(ourPrefix))) {
			err = errFound
		}
		return err
	})
	return errors.Is(err, errFound)
}

// madeForX64 reports whether a file begins as an object for Windows on x86-64.
func madeForX64(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [8]byte
	n, _ := io.ReadFull(f, head[:])
	return isX64(head[:n])
}

// isX64 reports whether an object begins so. One with more sections than 16 bits can count has another header.
func isX64(object []byte) bool {
	const amd64, big, version = 0x8664, 0xffff0000, 2 // members of import libraries have version 0
	le := binary.LittleEndian
	return len(object) > 1 && le.Uint16(object) == amd64 ||
		len(object) >= 8 && le.Uint32(object) == big && le.Uint16(object[4:]) >= version && le.Uint16(object[6:]) == amd64
}

package toolchain

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// msvcLinkerName matches LLVM's linker for MSVC's system, which CMake and others start themselves.
var msvcLinkerName = lazyregexp.New(`^lld-link(?:-\d+(?:\.\d+)*)?$`)

// linkMSVC runs such a linker, with the runtime behind its own arguments. What is not for x86-64 is linked as it is.
func (w *wrapper) linkMSVC(ctx context.Context, s *verb.Streams, path string, args []string) error {
	argv := append([]string{w.name}, args...)
	line := driver.ParseLLDLink(args, ReadResponse)
	other := func(name string) bool {
		return isObject(name) && !madeForX64(name) && !holdsBitcode(name) || filepath.Base(name) == coffObject // which the driver that started it added
	}
	if line.Other || w.opts.Shim.Map || !slices.ContainsFunc(line.Inputs, linkedForX64) || slices.ContainsFunc(line.Inputs, other) {
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
	l := &mixedLink{streams: s, inputs: msvcInputs(&line), runtime: tc.Archive, mode: shim.Mode.String(), output: line.Output, strict: shim.strict()}
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
	inputs := msvcInputs(line)
	link, err := b.linkArgs(in.streams, b.linker(ctx, in.compiler, nil), line.Output, inputs)
	if err != nil {
		return err
	}
	l := &mixedLink{streams: in.streams, inputs: inputs, events: laidEvents(link, line.Output)}
	return l.run(path, append(in.argv, linkByHand(link)...))
}

// msvcInputs returns the files of a link.
func msvcInputs(line *driver.LLDLink) []linkInput {
	inputs := make([]linkInput, 0, len(line.Inputs))
	for _, name := range line.Inputs {
		inputs = append(inputs, linkInput{path: name})
	}
	return inputs
}

// isObject reports whether an input is an object by its name, as CMake and Microsoft's tools give it.
func isObject(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".obj" || ext == ".o"
}

// linkedForX64 reports whether an input may have code with probes.
func linkedForX64(name string) bool { return madeForX64(name) || holdsBitcode(name) }

// madeForX64 reports whether a file begins as an object for Windows on x86-64.
func madeForX64(name string) bool {
	const amd64 = 0x8664
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = f.Read(head[:])
	return err == nil && binary.LittleEndian.Uint16(head[:]) == amd64
}

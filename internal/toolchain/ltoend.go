package toolchain

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
)

// The records of a program are a mapped file, so that none are lost if it is killed. So they must fill whole pages: the part of
// their section that rounds it up is in the runtime, which is the last object of a link. But two linkers put the code that they
// make of bitcode behind all objects, and the records in it as well:
//
//   - lld with the objects of its distributor: it is told to place the parts of these sections in the opposite order,
//     and the object with that part is the first one of the link. With that option the order of code stays, and merged
//     strings come before other read-only data.
//   - mold with gcc's plugin: the plugin gets the object as a library that it must name after the code, which is how
//     libgcc comes after it.

// lastObjects returns the objects that are placed so, by lld in reversed order or by mold.
func (o *ShimOptions) lastObjects(reversed bool) []nativert.Object {
	if o.Mode.Timed() || o.Use != nil || o.Map {
		return nil
	}
	return nativert.LastObjects(o.Mode.HasSlots(), reversed)
}

// addLast puts them into the directory of a toolchain.
func (b runtimeBuild) addLast(ctx context.Context, tmp string) error {
	objects := append(b.opts.lastObjects(false), b.opts.lastObjects(true)...)
	if err := compileObjects(ctx, b.src, b.compiler, append(slices.Clone(b.opts.Target), nativert.Flags(b.machine)...), objects...); err != nil {
		return err
	}
	for _, o := range objects {
		if err := os.Rename(filepath.Join(b.src.dir, o.Name), filepath.Join(tmp, o.Name)); err != nil {
			return err
		}
	}
	return nil
}

// lastFirst returns the arguments of a link by lld with these objects last in their sections.
func (l *ltoLinker) lastFirst(line *driver.LinkerLine, args []string) []string {
	if !slices.ContainsFunc(line.Words, func(w driver.LinkerWord) bool { return isRuntime(&w) }) {
		return args
	}
	var objects []string
	for _, o := range l.opts.lastObjects(true) {
		objects = append(objects, filepath.Join(l.root, o.Name))
	}
	if len(objects) == 0 {
		return args
	}
	const reversed = "=-1"
	return append(slices.Concat(objects, args), "--shuffle-sections="+wire.RawSection+reversed, "--shuffle-sections="+wire.OrderSection+reversed)
}

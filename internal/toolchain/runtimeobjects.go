package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/verb"
)

// A runtime has some thirty objects, of which one or two depend on the options of cairn cc. So objects have
// their own cache, and a build with other options compiles only a few.

// objectCompiler compiles members of a runtime with one compiler and one set of flags.
type objectCompiler struct {
	src     sources
	c       Compiler
	flags   []string
	objcopy func() string // as the compiler names it
}

// sources is a directory for the sources of a runtime and its objects.
type sources struct {
	dir   string
	write func() error // writes the sources, if they are not there
}

// withSources calls build with such a directory in tmp, and removes it.
func withSources(tmp string, build func(src sources) error) error {
	return withDirectory(filepath.Join(tmp, "src"), build)
}

// withDirectory calls build with such a directory, which it makes and removes.
func withDirectory(dir string, build func(src sources) error) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	src := sources{dir, sync.OnceValue(func() error { return writeSources(dir) })}
	return errors.Join(build(src), verb.RemoveAll(dir))
}

func writeSources(dir string) error {
	for _, f := range nativert.Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// runtimeBuild is a runtime that is made for the objects of a compiler.
type runtimeBuild struct {
	src      sources
	compiler Compiler
	machine  nativert.Machine
	opts     ShimOptions
}

// compileObjects puts members into src, from the cache or by the compiler, which runs once on each processor.
func compileObjects(ctx context.Context, src sources, c Compiler, flags []string, objects ...nativert.Object) error {
	c = c.forC()
	b := objectCompiler{src: src, c: c, flags: flags, objcopy: sync.OnceValue(func() string { return c.tool(ctx, flags, "objcopy") })}
	var all sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	failures := make([]error, len(objects))
	for i, o := range objects {
		turn <- struct{}{}
		all.Go(func() {
			failures[i] = b.object(ctx, o)
			<-turn
		})
	}
	all.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// forC returns the driver for C that is installed with a driver for C++ or Fortran, or c itself if there is none. A
// runtime is C: so programs of several languages wait for its compilation once. Wrappers that choose a compiler by the
// name that they are called by, such as colorgcc, keep that name.
func (c Compiler) forC() Compiler {
	if c.Family == driver.Clang {
		if path, real, ok := sibling(c.Path, "clang++", "clang"); ok && real == c.real {
			c.Path = path
		}
		return c
	}
	for _, name := range []string{"g++", "gfortran", "gcc"} {
		if path, real, ok := sibling(c.real, name, "gcc"); ok && real == path {
			c.Path, c.real = path, path
			return c
		}
	}
	return c
}

// sibling returns the path of the file in the same directory whose name has to in place of from, a whole word, and
// that path without links. ok is false if there is none.
func sibling(path, from, to string) (other, real string, ok bool) {
	dir, name := filepath.Split(path)
	i := strings.LastIndex(name, from)
	if i < 0 || i > 0 && name[i-1] != '-' {
		return "", "", false
	}
	other = filepath.Join(dir, name[:i]+to+name[i+len(from):])
	real, err := filepath.EvalSymlinks(other)
	return other, real, err == nil
}

// names returns the files of members.
func names(objects []nativert.Object) (list []string) {
	for _, o := range objects {
		list = append(list, o.Name)
	}
	return list
}

// object puts a member into the directory, from the cache or by the compiler.
func (b *objectCompiler) object(ctx context.Context, o nativert.Object) error {
	kept, err := objectPath(b.c, b.flags, o)
	if err != nil {
		return err
	}
	to := filepath.Join(b.src.dir, o.Name)
	if os.Link(kept, to) == nil {
		return nil
	}
	if err := b.src.write(); err != nil {
		return err
	}
	if err := b.compile(ctx, o); err != nil {
		return err
	}
	// Objects that cannot be kept, as on a file system without links, are compiled again.
	if err := os.Link(to, kept); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if os.MkdirAll(filepath.Dir(kept), 0o755) == nil {
		_ = os.Link(to, kept)
	}
	return nil
}

// objectPath returns the path of an object in the cache, whose name includes everything that it depends on.
func objectPath(c Compiler, flags []string, o nativert.Object) (string, error) {
	cache, err := verb.CacheDir()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(c.real)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%x %s %s %d %d %q %q", sourcesDigest(), c.Path, c.real, info.Size(), info.ModTime().UnixNano(), flags, o.Args)
	return filepath.Join(cache, "objects", fmt.Sprintf("%x-%s", h.Sum(nil)[:12], o.Name)), nil
}

// sourcesDigest returns a digest of the runtime's sources.
var sourcesDigest = sync.OnceValue(func() [sha256.Size]byte {
	h := sha256.New()
	for _, f := range nativert.Sources() {
		fmt.Fprintf(h, "%s %d\n%s", f.Name, len(f.Data), f.Data)
	}
	return [sha256.Size]byte(h.Sum(nil))
})

// compile compiles a member, as small as the compiler can: gcc before
// 12 has no -Oz. Its names are those of the runtime alone then.
func (b *objectCompiler) compile(ctx context.Context, o nativert.Object) error {
	var failure error
	for _, size := range []string{"-Oz", "-Os"} {
		lang := "c"
		if strings.HasSuffix(o.Args[len(o.Args)-1], ".S") {
			lang = "assembler-with-cpp"
		}
		args := append([]string{size, "-x", lang}, b.flags...)
		args = append(append(args, "-c", "-o", o.Name), o.Args...)
		cmd := exec.CommandContext(ctx, b.c.Path, args...)
		cmd.Dir = b.src.dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return renameLocals(ctx, b.src.dir, o.Name, b.objcopy())
		}
		failure = fmt.Errorf("compiling %s: %w: %s", o.Name, err, bytes.TrimSpace(out))
	}
	return failure
}

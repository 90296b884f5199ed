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
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/nativert"
	"github.com/cairnprof/cairn/internal/verb"
)

// A runtime has some thirty objects, of which one or two depend on the options of
// cairn cc. So objects have a cache of their own, and a build with other options waits for
// few of them.

// compileObject puts a member into src, where its sources are, from the cache or by the
// compiler.
func compileObject(ctx context.Context, src string, c Compiler, flags []string, o nativert.Object) error {
	kept, err := objectPath(c, flags, o)
	if err != nil {
		return err
	}
	to := filepath.Join(src, o.Name)
	if os.Link(kept, to) == nil {
		return nil
	}
	if err := compileNew(ctx, src, c, flags, o); err != nil {
		return err
	}
	// What cannot be kept, as on a file system without links, is compiled again.
	if err := os.Link(to, kept); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if os.MkdirAll(filepath.Dir(kept), 0o755) == nil {
		_ = os.Link(to, kept)
	}
	return nil
}

// objectPath returns where the cache has an object, which is named by all that it depends
// on.
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

// compileNew compiles a member, as small as the compiler can: gcc before
// 12 has no -Oz. Its names are those of the runtime alone then.
func compileNew(ctx context.Context, src string, c Compiler, flags []string, o nativert.Object) error {
	var failure error
	for _, size := range []string{"-Oz", "-Os"} {
		lang := "c"
		if strings.HasSuffix(o.Args[len(o.Args)-1], ".S") {
			lang = "assembler-with-cpp"
		}
		args := append([]string{size, "-x", lang}, flags...)
		args = append(append(args, "-c", "-o", o.Name), o.Args...)
		cmd := exec.CommandContext(ctx, c.Path, args...)
		cmd.Dir = src
		out, err := cmd.CombinedOutput()
		if err == nil {
			return renameLocals(ctx, src, o.Name, c.tool(ctx, flags, "nm"), c.tool(ctx, flags, "objcopy"))
		}
		failure = fmt.Errorf("compiling %s: %w: %s", o.Name, err, bytes.TrimSpace(out))
	}
	return failure
}

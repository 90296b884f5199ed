package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/nativert"
)

// addHost makes the library that instrumented libraries load in a process whose executable has no runtime, and
// returns the members of the runtime's archive with those that contain it.
func (b runtimeBuild) addHost(ctx context.Context, members []string) ([]string, error) {
	src, c, m, opts := b.src, b.compiler, b.machine, &b.opts
	host := nativert.HostOf(m, opts.Options)
	flags := append(slices.Clone(opts.Target), nativert.TimedFlags(m)...)
	if err := src.write(); err != nil { // an object includes the library, which is beside the sources
		return nil, err
	}
	// Objects of that name may differ: those of the archive were made for other options.
	dir := filepath.Join(filepath.Dir(src.dir), "host")
	if err := withDirectory(dir, func(in sources) error {
		if err := compileObjects(ctx, in, c, flags, host.Objects...); err != nil {
			return err
		}
		link := slices.Concat(opts.Target, []string{"-o", filepath.Join(src.dir, nativert.HostName)}, names(host.Objects), nativert.HostLinkFlags)
		cmd := exec.CommandContext(ctx, c.forC().Path, link...)
		cmd.Dir = in.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("linking the runtime for libraries: %w: %s", err, bytes.TrimSpace(out))
		}
		library, err := os.ReadFile(filepath.Join(src.dir, nativert.HostName))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(src.dir, nativert.PackedName), nativert.Compress(library), 0o644)
	}); err != nil {
		return nil, err
	}
	if err := compileObjects(ctx, src, c, flags, host.Guest...); err != nil {
		return nil, err
	}
	return append(members, names(host.Guest)...), nil
}

package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/prof"
)

// unwinderName is the library that the host needs, since it calls the unwinder. Those of the build have it by an option
// of their link; a stand-in of that name serves where the compiler would not find it by itself.
const unwinderName = "libgcc_s.so.1"

// addHost makes the library that instrumented libraries load in a process whose executable has no runtime, and what they
// link to call it or the executable's: an archive in tmp, or, where they have a runtime of their own, more members of the
// runtime's archive, which it returns.
func (b runtimeBuild) addHost(ctx context.Context, tmp string, members []string) ([]string, error) {
	src, m, opts := b.src, b.machine, &b.opts
	host := nativert.HostOf(m, opts.Options)
	flags := append(slices.Clone(opts.Target), nativert.TimedFlags(m)...)
	if err := src.write(); err != nil { // an object includes the library, which is beside the sources
		return nil, err
	}
	library, err := b.linkHost(ctx, &host, flags)
	if err != nil {
		return nil, err
	}
	objects := host.Guest
	shares := sharesRuntime(opts)
	switch {
	case opts.Runtime != "":
		path, err := b.keepRuntime(tmp, "so", library)
		if err != nil {
			return nil, err
		}
		objects = host.InFile(m, opts.Options, path, len(library))
	case shares:
		objects = append(nativert.GuestObjects(m, opts.Options), objects...)
	}
	if opts.Runtime == "" {
		if err := os.WriteFile(filepath.Join(src.dir, nativert.PackedName), nativert.Compress(library), 0o644); err != nil {
			return nil, err
		}
	}
	if err := compileObjects(ctx, src, b.compiler, flags, objects...); err != nil {
		return nil, err
	}
	if !shares {
		return append(members, names(objects)...), nil
	}
	guest := names(objects)
	if slices.Contains(members, "hook.o") {
		guest = append(guest, names(nativert.HookObjects())...)
	}
	return members, b.archive(ctx, filepath.Join(tmp, guestArchiveName), guest)
}

// sharesRuntime reports whether modules call the runtime of their process, and have none of their own.
func sharesRuntime(opts *ShimOptions) bool {
	return opts.Mode.Timed() && opts.Mode != prof.ModeTrace && !opts.Flight
}

// linkHost links the host, and returns the file.
func (b runtimeBuild) linkHost(ctx context.Context, host *nativert.Host, flags []string) (library []byte, err error) {
	// Objects of that name may differ: those of the archive were made for other options.
	dir := filepath.Join(filepath.Dir(b.src.dir), "host")
	err = withDirectory(dir, func(in sources) error {
		if err := compileObjects(ctx, in, b.compiler, flags, host.Objects...); err != nil {
			return err
		}
		run := func(words ...string) error {
			cmd := exec.CommandContext(ctx, b.compiler.forC().Path, slices.Concat(b.opts.Target, words)...)
			cmd.Dir = in.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("linking the runtime for libraries: %w: %s", err, bytes.TrimSpace(out))
			}
			return nil
		}
		link := slices.Concat([]string{"-o", filepath.Join(b.src.dir, nativert.HostName)}, names(host.Objects))
		if b.opts.Mode != prof.ModeTrace {
			if err := run("-shared", "-nostdlib", "-Wl,-soname,"+unwinderName, "-x", "c", os.DevNull, "-o", unwinderName); err != nil {
				return err
			}
			link = append(link, "-Wl,--no-as-needed", unwinderName)
		}
		if err := run(append(link, nativert.HostLinkFlags...)...); err != nil {
			return err
		}
		library, err = os.ReadFile(filepath.Join(b.src.dir, nativert.HostName))
		return err
	})
	return library, err
}

package cli

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
)

// foundLinker is a linker and what it says of itself.
type foundLinker struct {
	name    string // for messages
	kind    linkorder.Linker
	version linkorder.Version
	err     error // it does not say which linker it is
}

// word returns the linker as -fuse-ld= names it, "" if it is not known.
func (l *foundLinker) word() string { return strings.TrimPrefix(string(l.kind), "ld.") }

// linkerAt asks the linker at path what it is.
func linkerAt(ctx context.Context, path string) foundLinker {
	l := foundLinker{name: path}
	for _, option := range []string{"--version", "-v"} { // the latter is Apple's
		out, _ := exec.CommandContext(ctx, path, option).CombinedOutput()
		if l.kind, l.version = linkorder.DetectLinker(string(out)); l.kind != "" {
			return l
		}
	}
	l.err = fmt.Errorf("%s --version does not say which linker it is", path)
	return l
}

// linker asks the driver for the linker that the command starts.
func (c compiler) linker(ctx context.Context, cmd *driver.Command) foundLinker {
	args := cmd.Forward()
	if cmd.Linker != "" {
		args = append(args, "-fuse-ld="+cmd.Linker)
	}
	return linkerOfDriver(ctx, c.path, args)
}

// linkerOfDriver has the driver at path, with args, start its linker, which says what it
// is. The driver alone knows where it finds it: by -B, COMPILER_PATH, --ld-path or the
// tables that it was built with.
func linkerOfDriver(ctx context.Context, path string, args []string) foundLinker {
	// Without an output it would be a.out, if a linker took no notice.
	args = append(args[:len(args):len(args)], "-o", "/dev/null", "-Wl,--version")
	cmd := exec.CommandContext(ctx, path, args...)
	out, err := cmd.Output()
	l := foundLinker{name: "the linker of " + path}
	if l.kind, l.version = linkorder.DetectLinker(string(out)); l.kind != "" {
		return l
	}
	if l.err = fmt.Errorf("%s does not say which linker it starts", cmd); err != nil {
		l.err = fmt.Errorf("%w (%w)", l.err, err)
	}
	return l
}

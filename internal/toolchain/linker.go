package toolchain

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
)

// FoundLinker is a linker and how it identifies itself.
type FoundLinker struct {
	Name    string // for messages
	Kind    linkorder.Linker
	Version linkorder.Version
	Err     error // it does not say which linker it is
}

// word returns the linker's name for -fuse-ld=, "" if it is not known.
func (l *FoundLinker) word() string { return strings.TrimPrefix(string(l.Kind), "ld.") }

// LinkerAt asks the linker at path for its identity.
func LinkerAt(ctx context.Context, path string) FoundLinker {
	l := FoundLinker{Name: path}
	for _, option := range []string{"--version", "-v"} { // the latter is Apple's
		out, _ := exec.CommandContext(ctx, path, option).CombinedOutput()
		if l.Kind, l.Version = linkorder.DetectLinker(string(out)); l.Kind != "" {
			return l
		}
	}
	l.Err = fmt.Errorf("cannot identify the linker from the output of %s --version", path)
	return l
}

// Linker asks the driver for the linker that the command starts.
func (c Compiler) Linker(ctx context.Context, cmd *driver.Command) FoundLinker {
	args := cmd.Forward()
	if cmd.Linker != "" {
		args = append(args, "-fuse-ld="+cmd.Linker)
	}
	return LinkerOfDriver(ctx, c.Path, args)
}

// LinkerOfDriver makes the driver at path, with args, start its linker, which prints its identity. Only the
// driver knows where it finds it: by -B, COMPILER_PATH, --ld-path or built-in tables.
func LinkerOfDriver(ctx context.Context, path string, args []string) FoundLinker {
	// Otherwise the output would be a.out, if a linker ignored the option.
	args = append(args[:len(args):len(args)], "-o", os.DevNull, "-Wl,--version")
	cmd := exec.CommandContext(ctx, path, args...)
	out, err := cmd.Output()
	l := FoundLinker{Name: "the linker of " + path}
	if l.Kind, l.Version = linkorder.DetectLinker(string(out)); l.Kind != "" {
		return l
	}
	apple := exec.CommandContext(ctx, path, append(args[:len(args)-1:len(args)-1], "-Wl,-v")...)
	if said, _ := apple.CombinedOutput(); len(said) > 0 { // Apple's linker knows only this option
		if l.Kind, l.Version = linkorder.DetectLinker(string(said)); l.Kind == linkorder.LD64 {
			return l
		}
		l.Kind, l.Version = "", linkorder.Version{}
	}
	if l.Err = fmt.Errorf("cannot find out which linker %s starts", cmd); err != nil {
		l.Err = fmt.Errorf("%w (%w)", l.Err, err)
	}
	return l
}

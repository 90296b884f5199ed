package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// envLTOLink is set for lld's distributor: the number of the link.
const envLTOLink = "CAIRN_LTO_LINK"

// noAppleBitcode is why bitcode gets no probes with Apple's own linker.
const noAppleBitcode = "Apple's linker compiles bitcode in a library (libLTO.dylib), where no program can add probes: use clang and lld of LLVM (-fuse-ld=lld), or build with -fno-lto"

// bitcodeLink prepares a command for the link of bitcode: it returns the arguments and the environment by which
// clang starts our linker in place of lld, both nil if no code is made from bitcode. A linker that compiles
// bitcode in a plugin is a reason to refuse.
func (c Compiler) bitcodeLink(ctx context.Context, cmd *driver.Command) (linker, refusal string) {
	if c.Family != driver.Clang || !cmd.Links && !cmd.Merges {
		return "", ""
	}
	bitcode := cmd.LTO && len(cmd.Sources) > 0 || hasBitcode(cmd)
	if !bitcode && !cmd.LTO {
		return "", ""
	}
	if driver.IsMSVC(c.target(ctx, cmd.Target)) {
		return c.msvcLinker(ctx, cmd)
	}
	l := c.Linker(ctx, cmd)
	switch {
	case l.Kind == linkorder.LLD || l.Kind == linkorder.LD64LLD:
		path, err := c.linkerPath(ctx, cmd, l.Kind)
		if err != nil {
			return "", err.Error()
		}
		return path, ""
	case !bitcode:
		return "", ""
	case l.Kind == linkorder.LD64:
		return "", noAppleBitcode
	case l.Err != nil:
		return "", l.Err.Error()
	}
	return "", fmt.Sprintf("clang -flto needs lld, which hands cairn the code of bitcode, and this link starts %s: add -fuse-ld=lld, or build with -fno-lto", l.Kind)
}

// msvcLinker returns the path of the lld-link that a driver for MSVC's system would start, or why bitcode gets no probes.
func (c Compiler) msvcLinker(ctx context.Context, cmd *driver.Command) (linker, refusal string) {
	path, err := exec.LookPath(c.programOf(ctx, cmd.Target, msvcLTOName))
	if err != nil {
		return "", fmt.Sprintf("cannot find the lld-link that %s starts: %v", c.Path, err)
	}
	return path, ""
}

// linkerPath returns the path of the lld that the driver would start.
func (c Compiler) linkerPath(ctx context.Context, cmd *driver.Command, kind linkorder.Linker) (string, error) {
	name := ltoLinkerName
	if kind == linkorder.LD64LLD {
		name = appleLinkerName
	}
	for _, name := range []string{cmd.LinkerPath(), name} {
		path := name
		if filepath.Base(name) == name {
			path = c.tool(ctx, cmd.Forward(), name)
		}
		path, err := exec.LookPath(path)
		if err != nil {
			continue
		}
		if found := LinkerAt(ctx, path); found.Kind == kind {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot find the lld that %s starts", c.Path)
}

// ltoArgs are a driver's arguments for the stand-in of a toolchain, ltoEnv its environment.
func ltoArgs(root string, object asm.Object) []string {
	name := ltoLinkerName
	if object == asm.MachO {
		name = appleLinkerName
	}
	return []string{"-fuse-ld=lld", "--ld-path=" + filepath.Join(root, ltoDir, name)}
}

func ltoEnv(linker string) string { return envLinker + "=" + linker }

// maxCommandLine bounds the arguments of a linker: the kernel limits them to a part of the stack's limit, and
// response files of drivers may be longer.
const maxCommandLine = 1 << 17

// isLong reports whether arguments need a response file.
func isLong(args []string) bool {
	size := 0
	for _, a := range args {
		size += len(a) + 1
	}
	return size > maxCommandLine
}

// Backslashes that are doubled in a quoted argument of Microsoft's tools.
var (
	beforeQuote = lazyregexp.New(`(\\*)"`)
	beforeEnd   = lazyregexp.New(`(\\+)$`)
)

// inFile writes arguments to a response file in a directory and returns what names it. In those of Microsoft's tools (msvc), a
// backslash is one but before a quote.
func inFile(args []string, dir string, msvc bool) ([]string, error) {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	if msvc {
		quote = func(a string) string {
			return beforeEnd().ReplaceAllString(beforeQuote().ReplaceAllString(a, `$1$1\"`), "$1$1")
		}
	}
	var text strings.Builder
	for _, a := range args {
		fmt.Fprintf(&text, "\"%s\"\n", quote(a))
	}
	f, err := os.CreateTemp(dir, "args-")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text.String())
	return []string{"@" + f.Name()}, errors.Join(err, f.Close())
}

package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
)

// platformWarning matches what clang's assembler says of all text for a simulator, clang's own output as well,
// which it assembles as it should.
var platformWarning = lazyregexp.New(`(?m)^.*: warning: \.build_version \w+simulator used while targeting .*\n.*\n *\^\n`)

// withoutPlatform returns an assembler's messages without that warning.
func withoutPlatform(messages []byte) []byte { return platformWarning().ReplaceAll(messages, nil) }

// machOLacks returns a requested feature that programs for macOS and iOS cannot have, or "".
func (o *ShimOptions) machOLacks(c Compiler) string {
	switch {
	case c.Family != driver.Clang:
		return "for Mach-O, cairn instruments the output of clang only"
	case o.Exact || o.Signals || o.Control:
		return "--clock exact, --tick signal and --control are not supported for Mach-O: there a thread keeps the clock of mode spike"
	case o.Runtime != "":
		return "--shared-runtime is not supported for Mach-O"
	case o.Prove:
		return "--prove supports x86-64 ELF only"
	}
	return ""
}

// buildMachO compiles the runtime for Mach-O, which is one object: linkers there drop the
// unneeded parts of it.
func buildMachO(ctx context.Context, tmp string, src sources, c Compiler, opts ShimOptions) error {
	if err := src.write(); err != nil {
		return err
	}
	source, args := nativert.MachOSource(opts.Options)
	flags := slices.Concat([]string{"-Oz"}, opts.Target, nativert.MachOFlags(opts.Machine), args)
	cmd := exec.CommandContext(ctx, c.Path, append(flags, "-x", "c", "-c", "-o", filepath.Join(tmp, machOObject), source)...)
	cmd.Dir = src.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s: %w: %s", source, err, bytes.TrimSpace(out))
	}
	return nil
}

// machOSource returns the source of a compiler's text that does not name it: the only one of the command, or
// the one whose name begins the text's file name, as in /tmp/main-1f2e.s and main.c.
func machOSource(sources []string, input string) string {
	if len(sources) == 1 {
		return sources[0]
	}
	text := strings.TrimSuffix(filepath.Base(input), ".s")
	found := ""
	for _, s := range sources {
		stem := strings.TrimSuffix(filepath.Base(s), filepath.Ext(s))
		if rest, ok := strings.CutPrefix(text, stem); ok && (rest == "" || rest[0] == '-' && !strings.Contains(rest[1:], "-")) {
			if found != "" {
				return "" // two of one name
			}
			found = s
		}
	}
	return found
}

// isOutput reports whether src is what a compiler hands to an assembler.
func (sh *shim) isOutput(src []byte) bool {
	switch sh.opts.Object {
	case asm.MachO:
		return asm.IsMachO(src)
	case asm.COFF:
		return asm.IsCOFF(src)
	}
	return asm.IsCompilerOutput(src)
}

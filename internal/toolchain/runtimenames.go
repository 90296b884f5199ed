package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// ourPrefix is the prefix of every name that the runtime adds to a program.
const ourPrefix = "__cairn_"

// isOurs reports whether a symbol belongs to the runtime by its name: to its parts, or to the declarations in
// cairn.h. Names that begin with a dot are sections.
func isOurs(name string) bool {
	return strings.HasPrefix(name, ourPrefix) || strings.HasPrefix(name, "cairn_") || strings.HasPrefix(name, ".")
}

// renameLocals puts ourPrefix before the names of static functions and variables in an object of the runtime,
// such as put and copy. Linkers copy them into the symbol table of each program, where debuggers and profilers
// would attribute them to the program. The names are kept rather than stripped, so that stacks show the
// runtime.
func renameLocals(ctx context.Context, dir, object, nmTool, objcopy string) error {
	nm := exec.CommandContext(ctx, nmTool, "-P", "--defined-only", object)
	nm.Dir = dir
	out, err := nm.Output()
	if err != nil {
		return fmt.Errorf("nm %s: %w", object, err)
	}
	var args []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || isOurs(fields[0]) || !localClass(fields[1]) {
			continue
		}
		args = append(args, "--redefine-sym", fields[0]+"="+ourPrefix+fields[0])
	}
	if len(args) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, objcopy, append(args, object)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("objcopy %s: %w: %s", object, err, bytes.TrimSpace(out))
	}
	return nil
}

// localClass reports whether nm's letter for a symbol means a local one. Weak symbols and unique ones have
// small letters, too.
func localClass(letter string) bool {
	return len(letter) == 1 && strings.Contains("abdgprst", letter)
}

package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
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
func renameLocals(ctx context.Context, dir, object, objcopy string) error {
	locals, err := localNames(filepath.Join(dir, object))
	if err != nil {
		return err
	}
	var args []string
	for _, name := range locals {
		if !isOurs(name) {
			args = append(args, "--redefine-sym", name+"="+ourPrefix+name)
		}
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

// localNames returns the names of the local functions and variables that an ELF object defines, in the order of
// its symbol table. Mapping symbols, $a, $d, $t and $x in objects for Arm, are not among them.
func localNames(path string) (names []string, err error) {
	objects, err := objfile.LinkObjects(path)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		for _, n := range o.Names {
			if n.Local && n.Defined && !strings.HasPrefix(n.Name, "$") {
				names = append(names, n.Name)
			}
		}
	}
	return names, nil
}

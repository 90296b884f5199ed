package shorttest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
)

// MachOLoader compiles the loader that runs programs for macOS and iOS on Linux, from its sources in a directory,
// to a path. Programs find the functions that they import in the C library and in more libraries, as -lstdc++.
func MachOLoader(compiler, sources, to string, libraries ...string) error {
	args := []string{"-O1", "-w", "-fno-omit-frame-pointer", "-rdynamic", "-o", to}
	for _, part := range []string{"loader", "libsystem", "threads", "mach", "tlv", "unwind", "objc"} {
		args = append(args, filepath.Join(sources, part+".c"))
	}
	args = slices.Concat(args, []string{"-Wl,--no-as-needed"}, libraries, []string{"-ldl", "-lm"})
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the loader: %w\n%s", err, out)
	}
	return nil
}

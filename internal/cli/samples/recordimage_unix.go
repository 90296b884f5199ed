//go:build unix

package samples

import (
	"fmt"
	"os"
	"syscall"

	"github.com/cairnprof/cairn/internal/watch/lbr"
)

// writeImage writes the plan for the copy of a module, which names the module's file as the kernel does.
func writeImage(plan, module string, image *lbr.Image) error {
	info, err := os.Stat(module)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: no inode", module)
	}
	return os.WriteFile(plan, image.Encode(uint64(st.Dev), st.Ino), 0o600)
}

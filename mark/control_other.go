//go:build cairn && !linux

package mark

import (
	"fmt"
	"os"
)

func serve() {
	fmt.Fprintln(os.Stderr, "cairn: CAIRN_SPIKE=control: there is a control socket on Linux only")
}

//go:build cairn && !linux

package mark

import (
	"fmt"
	"os"
)

func serve() {
	fmt.Fprintln(os.Stderr, "cairn: CAIRN_SPIKE=control: control sockets are supported only on Linux")
}

//go:build !linux

package marklog

import (
	"os"
	"time"
)

// image describes the program in memory; only its path is known on this system.
type image struct {
	path             string
	id               []byte
	bias, start, end uint64
}

var began = time.Now()

func monotonic() uint64 { return uint64(time.Since(began)) }

func program() image {
	path, err := os.Executable()
	if err != nil {
		path = "program"
	}
	return image{path: path}
}

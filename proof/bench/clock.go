package main

import (
	"os"
	"syscall"
	"time"
)

var started = time.Now()

// now returns seconds since the start of the benchmark.
func now() float64 { return time.Since(started).Seconds() }

// onDisk returns the bytes that a file takes, holes not counted.
func onDisk(path string) (int64, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	const block = 512
	return st.Sys().(*syscall.Stat_t).Blocks * block, nil
}

// Package goruntime has the files that are added to package runtime of instrumented Go
// programs: the code that maps the records, and the functions that probes call. It uses internal
// names of the Go release, so there is a variant for each minor version that it was tested with.
package goruntime

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/packed"
	"github.com/cairnprof/cairn/prof"
)

// files are the added files. Which of them a program has depends on its mode and target, so that they are
// no package that could be built here: TestTypes checks each set of them in place. They are compressed in the program. To
// have changes in it:
//
//	go test ./internal/runtime/goruntime -run TestWire -update
var files = sync.OnceValue(func() packed.Files { return packed.Unpack(archive) })

//go:embed sources.zst
var archive string

// Hash writes the added files to h.
func Hash(h io.Writer) error {
	for _, f := range files() {
		if _, err := fmt.Fprintf(h, "%s %d\n%s", f.Name, len(f.Data), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// Target is the Go version that builds a program, and the system that it is built for.
type Target struct {
	Version string // as go1.26.8
	GOOS    string
	GOARCH  string
}

// minors are the minor versions of Go 1 that the added files were tested with.
var minors = []int{25, 26}

// Check returns why programs of a target cannot be instrumented, nil if they can.
func (t Target) Check() error {
	m, ok := t.minor()
	if !ok || !slices.Contains(minors, m) {
		return fmt.Errorf("%s: this cairn instruments programs of Go 1.25 and 1.26; choose one by GOTOOLCHAIN, such as GOTOOLCHAIN=go1.26.8", t.Version)
	}
	known := t.GOARCH == "amd64" || t.GOARCH == "arm64"
	if !known || !slices.Contains([]string{"linux", "darwin", "windows"}, t.GOOS) {
		return fmt.Errorf("%s/%s: Go programs are instrumented for linux, darwin and windows, on amd64 and arm64", t.GOOS, t.GOARCH)
	}
	return nil
}

// PerCPU reports whether each processor can have its own counters in mode count: they are found by
// segment gs, which the kernel and Go leave to programs.
func (t Target) PerCPU() bool { return t.GOOS == "linux" && t.GOARCH == "amd64" }

func (t Target) minor() (int, bool) {
	rest, ok := strings.CutPrefix(t.Version, "go1.")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.Atoi(rest[:end])
	// Release candidates and development versions were not tested.
	tail := rest[end:]
	return n, err == nil && (tail == "" || tail[0] == '.' || tail[0] == '-' || tail[0] == ' ')
}

// Mark returns the text that replaces off.go of package mark in mode spike.
func Mark() []byte {
	text, err := files().Read("_mark/mark.go")
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}

// Files returns the files that a mode adds to package runtime, by name, for a target that
// Check accepts.
func Files(t Target, mode prof.Mode) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range append(ofMode(t, mode), ofTarget(t, mode)...) {
		text, err := files().Read("_runtime/" + name + ".go")
		if err != nil {
			return nil, err
		}
		out["cairn_"+name+".go"] = text
	}
	return out, nil
}

// ofMode returns the names of the files that all systems have.
func ofMode(t Target, mode prof.Mode) []string {
	switch {
	case mode.Timed():
		return []string{
			"path", "wire_log", "timed", "memory", "log", "spike", "stamps", "open", "wait", "marks", "pauses", "channels",
			"told", "faults", "frames", "stacks", "trace",
		}
	case mode == prof.ModeCount && t.PerCPU():
		return []string{"path", "wire_raw", "records", "percpu"}
	}
	return []string{"path", "wire_raw", "records", "shared"}
}

// ofTarget returns the names of the files for a system, a processor and a release of Go.
func ofTarget(t Target, mode prof.Mode) []string {
	m, _ := t.minor()
	names := []string{"sys_" + t.GOOS}
	switch t.GOOS {
	case "darwin":
		names = append(names, fmt.Sprint("darwin_go", m))
		if mode.Timed() {
			names = append(names, "wait_sema", "files_unknown")
		}
	case "windows":
		names = append(names, fmt.Sprint("windows_go", m))
		if !mode.Timed() {
			return append(names, "copy_windows")
		}
		names = append(names, "timed_windows", "wait_sema", "files_unknown")
	default:
		names = append(names, fmt.Sprint("syscall_linux_go", m), "numbers_linux_"+t.GOARCH)
		if mode.Timed() {
			names = append(names, "wait_linux", "files_linux")
		}
	}
	return names
}

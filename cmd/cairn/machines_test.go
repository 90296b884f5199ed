package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestOtherMachines builds cairn for systems on which it reads what others recorded, runs it
// for one of them under qemu, and compares what it prints.
func TestOtherMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles all modules for each machine")
	}
	t.Parallel()
	dir := t.TempDir()
	build := func(goos, goarch string) string {
		program := filepath.Join(dir, goos+goarch)
		cmd := exec.Command("go", "build", "-o", program, ".")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s/%s: %v\n%s", goos, goarch, err, out)
		}
		return program
	}
	build("darwin", "arm64")
	other, native := build("linux", "arm64"), build(runtime.GOOS, runtime.GOARCH)
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Skip(err)
	}
	logs, err := filepath.Glob("../../format/xray/testdata/logs/*.xray")
	if err != nil || len(logs) == 0 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	for _, log := range logs {
		for _, verb := range []string{"stacks", "account", "dump"} {
			want, err := exec.Command(native, verb, "--color", "never", log).Output()
			if err != nil {
				t.Fatal(err)
			}
			got, err := exec.Command(qemu, other, verb, "--color", "never", log).Output()
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %s on arm64: %v\n%s\nwant\n%s", verb, log, err, got, want)
			}
		}
	}
}

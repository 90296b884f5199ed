package sampleset

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/verb"
)

// inContainer starts a program that has a file at path which only it sees, and returns its process.
func inContainer(t *testing.T, path string) int {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, for mounts")
	}
	program := exec.Command("unshare", "-m", "sh", "-c",
		`mount -t tmpfs none "$1" && cp "$(command -v sleep)" "$2" && echo ready && exec "$2" 1000`, "sh", filepath.Dir(path), path)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	program.Stderr = t.Output()
	if err := program.Start(); err != nil {
		t.Skip(err)
	}
	ended := make(chan struct{})
	stop := func() { _ = program.Process.Kill(); <-ended }
	t.Cleanup(stop)
	line, _ := bufio.NewReader(out).ReadString('\n')
	go func() { _ = program.Wait(); close(ended) }()
	if line != "ready\n" {
		t.Skip("cannot mount")
	}
	for exe := ""; exe != path; exe, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", program.Process.Pid)) {
		select {
		case <-ended:
			t.Fatal("the program ended")
		default:
			time.Sleep(time.Millisecond)
		}
	}
	return program.Process.Pid
}

// TestContainer finds the file that a process with mounts of its own has at a path, where this machine has another, as
// long as the process lives.
func TestContainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "in", "app")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	pid := inContainer(t, path)
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^([0-9a-f]+)-[0-9a-f]+ r-xp ([0-9a-f]+) \S+ \d+ +` + regexp.QuoteMeta(path) + `$`).FindSubmatch(maps)
	if code == nil {
		t.Fatalf("no code of %s in\n%s", path, maps)
	}
	find := func(pid int, start string) []string {
		t.Helper()
		text := fmt.Sprintf("PERF_RECORD_MMAP2 %d/%d: [0x%s(0x1000) @ 0x%s fe:00 543 0]: r-xp %s\napp %d/%d\n\t%s\n\n", pid, pid, start, code[2], path, pid, pid, start)
		file := filepath.Join(t.TempDir(), "app.perf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := FindBinaries(t.Context(), &verb.Streams{Err: t.Output()}, []string{file})
		if err != nil {
			t.Fatal(err)
		}
		return found.Binaries
	}
	start := string(code[1])
	if got, want := find(pid, start), []string{fmt.Sprintf("/proc/%d/root%s", pid, path)}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A process that has the number by now is not asked, nor one with the same mounts.
	if got := find(pid, strings.Repeat("1", len(start))); !slices.Equal(got, []string{path}) {
		t.Errorf("%q at another address, want %q", got, path)
	}
	if got := find(os.Getpid(), start); !slices.Equal(got, []string{path}) {
		t.Errorf("%q of this process, want %q", got, path)
	}
}

//go:build linux && amd64

package attach

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
)

// build compiles a C or C++ program.
func build(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command(compiler, append(append([]string{"-O2", "-pthread", "-o", program}, flags...), "-x", map[bool]string{true: "c++", false: "c"}[strings.HasSuffix(compiler, "++")], "-")...)
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return program
}

// started is a program that has written its first line.
type started struct {
	*exec.Cmd
	lines *bufio.Scanner
	stdin *os.File
}

// start starts a program, which ends when its standard input does.
func start(t *testing.T, program string, args ...string) *started {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	s := &started{cmd, bufio.NewScanner(out), w}
	t.Cleanup(func() {
		w.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if !s.lines.Scan() {
		t.Fatalf("%s wrote nothing", program)
	}
	return s
}

// end has the program end, and returns its last line.
func (s *started) end(t *testing.T) string {
	t.Helper()
	s.stdin.Close()
	last := ""
	for s.lines.Scan() {
		last = s.lines.Text()
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the program: %v", err)
	}
	return last
}

// busy has values in all kinds of registers, in a loop and around system calls.
const busy = `
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include <immintrin.h>
int main(int n, char **v) {
  struct pollfd in = {0, POLLIN, 0};
  double wrong = 0;
  puts("ready"), fflush(stdout);
  for (;;) {
    volatile double d[64];
    double s = 0, t = 0;
    for (int k = 0; k < 2000; k++) {
      for (int i = 0; i < 64; i++) d[i] = i * 1.5;
      for (int i = 0; i < 64; i++) s += d[i] * d[i], t += d[63 - i] * d[63 - i];
    }
    if (s != t) wrong++;
    if (n == 1 && poll(&in, 1, n > 2 ? -1 : 0)) break;
    if (n == 2) { char c; if (read(0, &c, 1) <= 0) break; }
  }
  puts(wrong ? "wrong" : "right");
}
`

// TestGoesBackAlone detaches from a thread that was redirected, as the kernel does if the
// tracer is killed, and checks that the thread returns by itself.
func TestGoesBackAlone(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", busy)
	for _, args := range [][]string{nil, {"waits"}} {
		s := start(t, program, args...)
		for i := range 20 {
			err := onOneThread(func() error {
				p, err := openProcess(context.Background(), s.Process.Pid)
				if err != nil {
					return err
				}
				defer p.mem.Close()
				if err := p.stop(); err != nil {
					return err
				}
				maps, err := readMaps(p.pid)
				if err != nil {
					return err
				}
				if err := p.newCaller(maps); err != nil {
					return err
				}
				pid, err := p.calls.syscall(syscall.SYS_GETPID)
				if err == nil && int(pid) != s.Process.Pid {
					t.Errorf("getpid: %d", pid)
				}
				// It is not restored.
				_ = request(syscall.PTRACE_DETACH, p.calls.th.tid, 0, 0)
				return err
			})
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			time.Sleep(time.Millisecond)
		}
		if got := s.end(t); got != "right" {
			t.Errorf("%v: the program says %q", args, got)
		}
	}
}

// attachLibrary builds the library that is put into programs.
func attachLibrary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range nativert.Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gcc := func(args ...string) {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	link := append([]string{"-o", "library.so"}, nativert.AttachLinkFlags...)
	for _, o := range nativert.AttachObjects() {
		gcc(slices.Concat(nativert.AttachFlags, []string{"-c", "-o", o.Name}, o.Args)...)
		link = append(link, o.Name)
	}
	gcc(link...)
	return filepath.Join(dir, "library.so")
}

// TestLeavesAlone detaches from a thread that was redirected into the library. It checks that
// the thread continues where it was when it is done there, and that the library can be removed
// from the program.
func TestLeavesAlone(t *testing.T) {
	t.Parallel()
	program, library := build(t, "gcc", busy), attachLibrary(t)
	for _, args := range [][]string{nil, {"waits"}} {
		s := start(t, program, args...)
		pid := s.Process.Pid
		entry, err := auxiliary(pid, procmaps.AuxEntry)
		if err != nil {
			t.Fatal(err)
		}
		plan := &detour.Plan{Lo: entry, Hi: entry + 1, Blob: make([]byte, 8)}
		a := &attacher{own: ownMemory{file: noFile}, blob: map[*detour.Plan]uint64{}, o: &Options{PID: pid, Library: library, Plan: plan, Entry: entry, Words: []string{
			"CAIRN_DIR=" + t.TempDir(), "CAIRN_SPIKE=threshold=5ms",
		}}}
		err = onOneThread(func() (err error) {
			if err := a.prepare(); err != nil {
				return err
			}
			if a.process, err = openProcess(context.Background(), pid); err != nil {
				return err
			}
			defer a.mem.Close()
			for _, step := range []func() error{
				func() error { return a.whileStopped(a.mapMemory) }, a.load, a.halt, a.begin,
			} {
				if err := step(); err != nil {
					return err
				}
			}
			// It is not restored.
			return request(syscall.PTRACE_DETACH, a.calls.th.tid, 0, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := detach(pid); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if got := s.end(t); got != "right" {
			t.Errorf("%v: the program says %q", args, got)
		}
	}
}

// detach is Detach for a program whose threads are in hooks most of the time.
func detach(pid int) (err error) {
	for range 20 {
		if err = Detach(context.Background(), pid); err == nil || !strings.Contains(err.Error(), "detach again later") {
			return err
		}
	}
	return err
}

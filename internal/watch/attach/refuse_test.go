//go:build linux && amd64

package attach

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// askVariable has the test's program say what Check says of a process: another user runs it.
const askVariable = "CAIRN_TEST_CHECK"

func TestMain(m *testing.M) {
	if pid, err := strconv.Atoi(os.Getenv(askVariable)); err == nil {
		fmt.Print(Check(pid))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const nobody = 65534

// publicCopy copies a program to where other users may run it.
func publicCopy(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cairn-attach-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "program")
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be two users")
	}
}

func TestRefusesOtherUser(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	s := start(t, build(t, "gcc", busy), "waits")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(publicCopy(t, own))
	cmd.Dir = "/"
	cmd.Env = []string{fmt.Sprintf("%s=%d", askVariable, s.Process.Pid)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if want := "belongs to another user (id 0): only that user and root can attach to it"; !strings.HasSuffix(string(out), want) {
		t.Errorf("got %s, want %s", out, want)
	}
	if got := s.end(t); got != "right" {
		t.Errorf("the program says %q", got)
	}
}

func TestRefusesSetuid(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	program := publicCopy(t, build(t, "gcc", busy))
	if err := os.Chown(program, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	s := start(t, program, "waits")
	if uids := strings.Fields(statusField(fmt.Sprintf("/proc/%d/status", s.Process.Pid), "Uid")); uids[0] == uids[1] {
		t.Skip("programs here cannot be set-uid")
	}
	refuses(t, s, "it runs with more privileges than its user (setuid, setgid)")
}

// refuses expects an end of what Check says, and that the program runs on.
func refuses(t *testing.T, s *started, want string) {
	t.Helper()
	if err := Check(s.Process.Pid); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if got := s.end(t); got != "right" {
		t.Errorf("the program says %q", got)
	}
}

func TestRefusesMusl(t *testing.T) {
	t.Parallel()
	source := strings.Replace(busy, "#include <immintrin.h>\n", "", 1)
	refuses(t, start(t, build(t, "musl-gcc", source), "waits"), "its C library is musl, which hooks do not support")
}

// small is a program of 32 bits without a C library, which may not be there for them.
const small = `
static int call(int nr, int a, const void *b, int c) {
  int r;
  __asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
  return r;
}
void _start(void) {
  char c;
  call(4, 1, "ready\n", 6);
  while (call(3, 0, &c, 1) > 0) {
  }
  call(4, 1, "right\n", 6);
  call(1, 0, 0, 0);
}
`

func TestRefuses32Bits(t *testing.T) {
	t.Parallel()
	program := build(t, "gcc", small, "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie")
	if err := exec.Command(program).Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("the kernel does not run programs of 32 bits")
	}
	refuses(t, start(t, program), "it is not a program for x86-64")
}

func TestRefusesStopped(t *testing.T) {
	t.Parallel()
	s := start(t, build(t, "gcc", busy), "waits")
	status := fmt.Sprintf("/proc/%d/status", s.Process.Pid)
	if err := s.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for !strings.HasPrefix(statusField(status, "State"), "T") {
		time.Sleep(time.Millisecond)
	}
	if err := Check(s.Process.Pid); err == nil || !strings.HasSuffix(err.Error(), "it is stopped (SIGSTOP, Ctrl-Z): continue it first") {
		t.Errorf("stopped: %v", err)
	}
	if err := s.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for strings.HasPrefix(statusField(status, "State"), "T") {
		time.Sleep(time.Millisecond)
	}
	if err := Check(s.Process.Pid); err != nil {
		t.Errorf("going on: %v", err)
	}
	if got := s.end(t); got != "right" {
		t.Errorf("the program says %q", got)
	}
}

func TestRefusesTraced(t *testing.T) {
	t.Parallel()
	s := start(t, build(t, "gcc", busy), "waits")
	pid := s.Process.Pid
	err := onOneThread(func() error {
		if err := request(requestSeize, pid, 0, 0); err != nil {
			return err
		}
		want := fmt.Sprintf("it is already traced by process %s (a debugger, strace?)", statusField(fmt.Sprintf("/proc/%d/status", pid), "TracerPid"))
		if err := Check(pid); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		// A debugger that came in between is found when the threads are to be stopped.
		if err := whyNotTraced(pid, syscall.EPERM); !strings.Contains(err.Error(), "is already traced by process") {
			t.Errorf("got %v", err)
		}
		if err := request(requestInterrupt, pid, 0, 0); err != nil {
			return err
		}
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, syscall.WALL, nil); err != nil {
			return err
		}
		return request(syscall.PTRACE_DETACH, pid, 0, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.end(t); got != "right" {
		t.Errorf("the program says %q", got)
	}
}

// forks has a child for each line of its input, which says its number and ends with it.
const forks = `
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int step(int i) {
  volatile int sum = 0;
  for (int k = 0; k < i; k++) sum += k;
  return sum;
}
int main(void) {
  char c;
  puts("ready"), fflush(stdout);
  while (read(0, &c, 1) > 0) {
    if (fork()) continue;
    printf("%d\n", getpid()), fflush(stdout);
    while (read(0, &c, 1) > 0) step(c);
    _exit(0);
  }
  while (wait(0) > 0) step(1);
  puts("right");
}
`

// TestRefusesChild attaches to a process and then to its child, which already has the hooks but
// no thread that would make a log.
func TestRefusesChild(t *testing.T) {
	t.Parallel()
	program, library := build(t, "gcc", forks), attachLibrary(t)
	s := start(t, program)
	if _, err := attachTo(t, s.Process.Pid, program, library); err != nil {
		t.Fatal(err)
	}
	if err := Check(s.Process.Pid); err == nil || !strings.Contains(err.Error(), "cairn is already attached to it (to detach: cairn watch detach") {
		t.Errorf("the parent: %v", err)
	}
	if _, err := s.stdin.WriteString("\n"); err != nil || !s.lines.Scan() {
		t.Fatal("no child", err)
	}
	child, err := strconv.Atoi(s.lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	const want = "inherited its hooks from its parent: they record nothing, and remain until it ends"
	if err := Check(child); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the child: %v", err)
	}
	if err := Detach(t.Context(), s.Process.Pid); err != nil {
		t.Error(err)
	}
	if got := s.end(t); got != "right" {
		t.Errorf("the program says %q", got)
	}
}

//go:build linux && amd64

package attach

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/instrument/detourfile"
)

// filteredProgram has filters of system calls by its argument, and calls a function until its
// standard input ends.
const filteredProgram = `
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RET(v) BPF_STMT(BPF_RET | BPF_K, v)
#define CALL(nr, v) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), RET(v)
#define BEGIN LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0), RET(SECCOMP_RET_KILL_PROCESS), LOAD(nr)
#define INSTALL(...) do { \
    struct sock_filter f[] = {BEGIN, __VA_ARGS__}; \
    struct sock_fprog p = {sizeof f / sizeof f[0], f}; \
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) perror("seccomp"), _exit(3); \
  } while (0)
static volatile sig_atomic_t later;
static void on_signal(int n) { later = 1; }
static void *in_thread(void *ready) {
  INSTALL(CALL(SYS_memfd_create, SECCOMP_RET_KILL), RET(SECCOMP_RET_ALLOW));
  *(volatile int *)ready = 1;
  for (;;) pause();
}
__attribute__((noinline)) int step(int i) {
  volatile int sum = 0;
  for (int k = 0; k < i % 1000; k++) sum += k;
  return sum;
}
int main(int n, char **v) {
  const char *kind = v[1];
  volatile int ready = 0;
  pthread_t t;
  signal(SIGUSR1, on_signal);
  if (!strcmp(kind, "all")) INSTALL(RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "log")) INSTALL(CALL(SYS_memfd_create, SECCOMP_RET_LOG), RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "kill")) INSTALL(CALL(SYS_memfd_create, SECCOMP_RET_KILL), RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "two")) {
    INSTALL(CALL(SYS_clone, SECCOMP_RET_ERRNO | EPERM), RET(SECCOMP_RET_ALLOW));
    INSTALL(RET(SECCOMP_RET_ALLOW));
  }
  if (!strcmp(kind, "luxury")) /* as of services that are not to be fast */
    INSTALL(CALL(SYS_sched_setscheduler, SECCOMP_RET_ERRNO | EPERM), CALL(SYS_setpriority, SECCOMP_RET_ERRNO | EPERM),
            CALL(SYS_mkdir, SECCOMP_RET_ERRNO | EPERM), CALL(SYS_linkat, SECCOMP_RET_ERRNO | EPERM),
            CALL(SYS_fcntl, SECCOMP_RET_ERRNO | EPERM), RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "restart")) INSTALL(CALL(SYS_restart_syscall, SECCOMP_RET_KILL), RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "name")) INSTALL(CALL(SYS_prctl, SECCOMP_RET_ERRNO | EPERM), RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "suid")) /* as of RestrictSUIDSGID= */
    INSTALL(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 6), LOAD(args[1]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0100, 0, 3),
            LOAD(args[2]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 06000, 0, 1), RET(SECCOMP_RET_KILL), RET(SECCOMP_RET_ALLOW), RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "execute")) /* as of MemoryDenyWriteExecute= */
    INSTALL(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4), LOAD(args[2]), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 4),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 1), RET(SECCOMP_RET_ERRNO | EPERM), RET(SECCOMP_RET_ALLOW));
  if (!strcmp(kind, "thread")) {
    pthread_create(&t, 0, in_thread, (void *)&ready);
    while (!ready) usleep(1000);
  }
  puts("ready"), puts("right"), fflush(stdout);
  if (!strcmp(kind, "strict")) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  for (int i = 0;; i++) {
    char c;
    struct pollfd in = {0, POLLIN, 0};
    step(i);
    if (!strcmp(kind, "strict")) {
      if (read(0, &c, 1) <= 0) syscall(SYS_exit, 0);
    } else if (poll(&in, 1, strcmp(kind, "restart") ? 0 : -1) > 0) break;
    if (later) {
      INSTALL(CALL(SYS_munmap, SECCOMP_RET_KILL), RET(SECCOMP_RET_ALLOW));
      later = 0;
      if (write(1, "filtered\n", 9) < 0) return 1;
    }
  }
}
`

// attachTo hooks all functions of a program that runs.
func attachTo(t *testing.T, pid int, program, library string) (*Result, error) {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	module, err := detourfile.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return Attach(t.Context(), &Options{
		PID: pid, Library: library, Plan: detour.Make(module, detour.Options{}), Entry: module.Entry,
		Words: []string{"CAIRN_DIR=" + t.TempDir(), "CAIRN_SPIKE=threshold=5ms"},
	})
}

// canReadFilters skips a test where the kernel lets nobody read filters.
func canReadFilters(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 || statusField("/proc/self/status", "Seccomp") != "0" {
		t.Skip("needs root without a filter of system calls")
	}
}

// TestFilters attaches to programs with filters of system calls that allow what is needed, and
// checks the errors for others. All programs continue.
func TestFilters(t *testing.T) {
	t.Parallel()
	canReadFilters(t)
	program, library := build(t, "gcc", filteredProgram), attachLibrary(t)
	for _, c := range []struct{ kind, refused string }{
		{"none", ""},
		{"all", ""},
		{"log", ""},
		{"luxury", ""},
		{"suid", ""},
		{"restart", ""},
		{"kill", "under it memfd_create(_, 0x1) ends the program"},
		{"thread", "under it memfd_create(_, 0x1) ends the program"},
		{"name", "under it prctl(0xf) fails"},
		{"two", "under it clone(0x50f00, _, 0x0, 0x0, 0x0) fails"},
		{"execute", "under it mprotect(_, _, 0x5) fails"},
		{"strict", "it may make no system calls except read, write and exit (seccomp, strict)"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			s := start(t, program, c.kind)
			r, err := attachTo(t, s.Process.Pid, program, library)
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused == "":
				if r.Hooked == 0 {
					t.Error("nothing is hooked")
				}
				if err := Detach(t.Context(), s.Process.Pid); err != nil {
					t.Error(err)
				}
			case err == nil || !strings.HasSuffix(err.Error(), c.refused):
				t.Errorf("got %v, want %q", err, c.refused)
			}
			if got := s.end(t); got != "right" {
				t.Errorf("the program says %q", got)
			}
		})
	}
}

// TestFilteredLater detaches from a program that has got a filter meanwhile: it is told,
// and runs on.
func TestFilteredLater(t *testing.T) {
	t.Parallel()
	canReadFilters(t)
	program, library := build(t, "gcc", filteredProgram), attachLibrary(t)
	s := start(t, program, "none")
	if _, err := attachTo(t, s.Process.Pid, program, library); err != nil {
		t.Fatal(err)
	}
	if err := s.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for s.lines.Scan() && s.lines.Text() != "filtered" {
	}
	const want = "under it munmap ends the program"
	if err := Detach(context.Background(), s.Process.Pid); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	s.end(t)
}

// notMade are system calls in the library that one in a running program does not make.
var notMade = map[uint32]string{
	1:   "write: its messages are read from its memory",
	6:   "lstat, of the control socket, which it does not have; as the next",
	7:   "poll; also where futex fails, which filters are asked for",
	41:  "socket",
	42:  "connect",
	51:  "getsockname, of what a thread waits for, which is not looked up under a filter; as the next",
	52:  "getpeername",
	434: "pidfd_open, for the same; as the next",
	438: "pidfd_getfd",
	27:  "mincore, of threads that run, which are not looked at under a filter; as the next",
	274: "get_robust_list",
	44:  "sendto",
	49:  "bind",
	50:  "listen",
	55:  "getsockopt",
	91:  "fchmod",
	272: "unshare",
	288: "accept4",
	436: "close_range",
	79:  "getcwd: its directory is absolute",
	222: "timer_create: nobody asks for signals",
	223: "timer_settime",
	226: "timer_delete",
	230: "clock_nanosleep: of the exact clock; also where futex fails",
	231: "exit_group: there is room for its windows, or it is not begun",
}

// TestCalls compares the calls that filters are asked for with those in the library's code.
func TestCalls(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip(err)
	}
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", attachLibrary(t)).Output()
	if err != nil {
		t.Fatal(err)
	}
	made := map[uint32]bool{}
	var before []string
	for line := range strings.Lines(string(out)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, ">:") {
			before = nil
		}
		if strings.HasSuffix(line, "\tsyscall") {
			nr, err := numberOf(before)
			if err != nil {
				t.Errorf("%s: %v, behind\n%s", line, err, strings.Join(before[max(0, len(before)-8):], "\n"))
			}
			made[nr] = true
		}
		before = append(before, line)
	}
	if len(made) < 30 {
		t.Fatalf("only %d calls found", len(made))
	}
	known := slices.Concat(callerCalls, libraryCalls)
	for nr := range made {
		if !slices.ContainsFunc(known, func(c call) bool { return c.nr == nr }) && notMade[nr] == "" {
			t.Errorf("the library makes system call %d, of which filters are not asked", nr)
		}
	}
}

var (
	constant = regexp.MustCompile(`movl?\s+\$0x([0-9a-f]+),%[er]ax$`)
	zero     = regexp.MustCompile(`xor\s+%eax,%eax$`)
	fromSlot = regexp.MustCompile(`mov\s+(-?[0-9a-fx]*\(%rsp\)),%[er]ax$`)
)

// numberOf returns the number of a system call that the instructions before it set: a constant,
// or a word of the stack that has one.
func numberOf(before []string) (uint32, error) {
	for i, line := range slices.Backward(before) {
		if m := constant.FindStringSubmatch(line); m != nil {
			nr, err := strconv.ParseUint(m[1], 16, 32)
			return uint32(nr), err
		}
		if zero.MatchString(line) {
			return 0, nil
		}
		if m := fromSlot.FindStringSubmatch(line); m != nil {
			for _, line := range slices.Backward(before[:i]) {
				if _, value, ok := strings.Cut(line, "movq   $0x"); ok && strings.HasSuffix(line, ","+m[1]) {
					value, _, _ = strings.Cut(value, ",")
					nr, err := strconv.ParseUint(value, 16, 32)
					return uint32(nr), err
				}
			}
		}
		if strings.HasSuffix(line, ",%rax") || strings.HasSuffix(line, ",%eax") {
			break
		}
	}
	return 0, fmt.Errorf("the number of a system call is not clear")
}

// TestEachResult checks the results of handwritten filters.
func TestEachResult(t *testing.T) {
	t.Parallel()
	ret := func(a action) insn { return insn{code: 6, k: uint32(a)} }
	load := func(at uint32) insn { return insn{code: 0x20, k: at} }
	open := &call{nr: 2, args: []uint64{unknown, 0x100000005}}
	for _, c := range []struct {
		name   string
		filter []insn
		want   []action
	}{
		{"nothing", nil, []action{actUnclear}},
		{"number", []insn{load(0), {code: 0x15, jt: 0, jf: 1, k: 2}, ret(actErrno), ret(actAllow)}, []action{actErrno}},
		{"machine", []insn{load(4), {code: 0x15, jt: 1, jf: 0, k: archAMD64}, ret(actEndProcess), ret(actAllow)}, []action{actAllow}},
		{"lower half", []insn{load(24), {code: 0x15, jt: 0, jf: 1, k: 5}, ret(actTrap), ret(actAllow)}, []action{actTrap}},
		{"upper half", []insn{load(28), {code: 0x15, jt: 0, jf: 1, k: 1}, ret(actTrap), ret(actAllow)}, []action{actTrap}},
		{"unknown", []insn{load(16), {code: 0x45, jt: 0, jf: 1, k: 1}, ret(actTrap), ret(actAllow)}, []action{actTrap, actAllow}},
		{"unknown, of which nothing is left", []insn{load(16), {code: 0x54, k: 0}, {code: 0x15, jt: 1, jf: 0, k: 0}, ret(actTrap), ret(actAllow)}, []action{actAllow}},
		{"memory", []insn{load(0), {code: 2, k: 3}, {code: 0, k: 9}, {code: 0x61, k: 3}, {code: 0x0c}, {code: 0x15, jt: 1, jf: 0, k: 11}, ret(actTrap), ret(actAllow)}, []action{actAllow}},
		{"what it holds", []insn{load(16), {code: 0x16}}, []action{actUnclear}},
		{"what it holds, known", []insn{{code: 0, k: uint32(actLog)}, {code: 7}, {code: 0x87}, {code: 0x16}}, []action{actLog}},
		{"zero below", []insn{{code: 0x3c}, ret(actAllow)}, []action{actUnclear}},
		{"a jump out", []insn{{code: 5, k: 1 << 31}, ret(actAllow)}, []action{actUnclear}},
		{"data that is none", []insn{load(64), ret(actAllow)}, []action{actUnclear}},
	} {
		var got []action
		eachResult(c.filter, open, func(a action) { got = append(got, a) })
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %#x, want %#x", c.name, got, c.want)
		}
	}
	// Ways that part at each of many unknown words meet again, and are not followed twice.
	var long []insn
	for range 2000 {
		long = append(long, load(16), insn{code: 0x15, jt: 0, jf: 0, k: 7})
	}
	var got []action
	eachResult(append(long, ret(actAllow)), open, func(a action) { got = append(got, a) })
	if !slices.Equal(got, []action{actAllow}) {
		t.Errorf("long: %#x", got)
	}
}

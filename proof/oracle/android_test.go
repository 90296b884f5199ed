//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// android are the compiler and the options that make a program for Android from testdata/android.c, which needs no C library.
var android = []string{"clang-22", "--target=aarch64-linux-android29", "-nostdlib", "-no-pie", "-Wl,--no-dynamic-linker", "-fuse-ld=lld", "-w"}

// buildAndroid builds that program in a mode.
func buildAndroid(t *testing.T, mode string, options ...string) string {
	t.Helper()
	args := slices.Concat(android[1:], options, []string{filepath.Join("testdata", "android.c")})
	return build(t, mode, android[0], args...)
}

// TestAndroidCalls compares the calls of a program for Android, in modes stacks and trace, with the executions of each
// function's first instruction in the emulator's log. Each of its threads begins with nothing in the slot that Android's C
// library has for apps.
func TestAndroidCalls(t *testing.T) {
	t.Parallel()
	for _, options := range []string{"-O0", "-O2", "-O2 -fsanitize=shadow-call-stack", "-Os -mbranch-protection=standard"} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			flags := strings.Fields(options)
			_, ran, _, m := aarch64.emulated(t, buildAndroid(t, "count", flags...))
			want := map[string]uint64{}
			for i := range m.Funcs {
				if n := ran.instr[m.Funcs[i].Addr()]; n > 0 {
					want[m.Funcs[i].Name] = n
				}
			}
			if len(want) < 8 {
				t.Fatalf("the emulator's log has %d functions", len(want))
			}
			for _, mode := range []string{"stacks", "stacks --counts", "stacks --max", "trace"} {
				dir := t.TempDir()
				cmd := aarch64.run(t, buildAndroid(t, mode, flags...))
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
				checkAnswer(t, output(t, cmd), "")
				got := map[string]uint64{}
				for _, log := range mustGlob(t, filepath.Join(dir, "*.cairnlog")) {
					for stack, n := range foldedCalls(t, log) {
						got[stack[strings.LastIndex(stack, ";")+1:]] += n
					}
				}
				sameStacks(t, mode, got, want)
			}
		})
	}
}

// allowed are the system calls that no version of Android from 10 on ends an app for, of those that the runtime could do with.
var allowed = strings.Fields(`clock_gettime clock_nanosleep clone close exit exit_group fallocate fchmod fcntl fstat ftruncate futex
	getcwd getdents64 getegid geteuid getgid getpid getppid getrusage gettid getuid linkat lseek madvise mincore mkdirat mmap mprotect
	mremap munmap newfstatat openat ppoll prctl pread64 process_vm_readv pwrite64 read readlinkat renameat rt_sigaction rt_sigprocmask
	sched_setscheduler sched_yield setpriority tgkill timer_create timer_delete timer_settime unlinkat unshare write`)

// TestAndroidFilters checks that the runtime makes no system call for which Android's filters end an app, in the modes that
// measure time, and that mode spike finds the call that takes long.
func TestAndroidFilters(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`(?m)^(?:.*\D)?\d+ ([a-z_][a-z_0-9]*)\(`)
	for _, mode := range []string{"spike", "spike --clock exact", "stacks", "trace"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := command(t, aarch64.command, "-strace", buildAndroid(t, mode, "-O1"))
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
			said, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			calls := call.FindAllSubmatch(said, -1)
			if len(calls) < 50 {
				t.Errorf("%d system calls in\n%s", len(calls), said)
			}
			for _, c := range calls {
				if !slices.Contains(allowed, string(c[1])) {
					t.Errorf("%s", c[0])
				}
			}
			logs := mustGlob(t, filepath.Join(dir, "*.cairnlog"))
			if strings.HasPrefix(mode, "spike") {
				if text := output(t, command(t, cairn, append([]string{"spikes"}, logs...)...)); !regexp.MustCompile(`(?m)^ +\d+\) slow .*PEAK`).MatchString(text) {
					t.Errorf("no spike of slow:\n%s", text)
				}
			}
		})
	}
}

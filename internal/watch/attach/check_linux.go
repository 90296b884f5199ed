//go:build linux && amd64

package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// whyNotTraced explains an error of ptrace, or of opening the memory.
func whyNotTraced(pid int, err error) error {
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("process %d: %w", pid, ErrEnded)
	}
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	status := fmt.Sprintf("/proc/%d/status", pid)
	if tracer := statusField(status, "TracerPid"); tracer != "" && tracer != "0" {
		return fmt.Errorf("process %d is already traced by process %s (a debugger, strace?)", pid, tracer)
	}
	uids := strings.Fields(statusField(status, "Uid"))
	if os.Geteuid() != 0 && len(uids) > 0 && uids[0] != strconv.Itoa(os.Geteuid()) {
		return fmt.Errorf("process %d belongs to another user (id %s): only that user and root can attach to it", pid, uids[0])
	}
	if scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); len(scope) > 0 && scope[0] != '0' {
		return fmt.Errorf("process %d: only root can attach to programs on this system (kernel.yama.ptrace_scope is %c): run cairn with sudo", pid, scope[0])
	}
	return fmt.Errorf("process %d: the system does not permit attaching to it: %w (a container may need --cap-add=SYS_PTRACE)", pid, err)
}

// Check refuses processes that cannot be attached to, from what the kernel reports.
func Check(pid int) error {
	if pid == os.Getpid() {
		return errors.New("this is the process of cairn itself")
	}
	path := fmt.Sprintf("/proc/%d/status", pid)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("process %d: %w", pid, ErrEnded)
	}
	field := func(name string) string { return statusField(path, name) }
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("process %d: %s", pid, fmt.Sprintf(format, args...))
	}
	if tgid := field("Tgid"); tgid != strconv.Itoa(pid) {
		return refuse("that is a thread of process %s", tgid)
	}
	switch state := field("State"); {
	case strings.HasPrefix(state, "Z"), strings.HasPrefix(state, "X"):
		return refuse("it has ended")
	case strings.HasPrefix(state, "T"):
		return refuse("it is stopped (SIGSTOP, Ctrl-Z): continue it first")
	}
	if tracer := field("TracerPid"); tracer != "0" {
		return refuse("it is already traced by process %s (a debugger, strace?)", tracer)
	}
	if strings.Contains(field("x86_Thread_features"), "shstk") {
		return refuse("it has a shadow stack (CET), so return addresses cannot be changed; start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off")
	}
	for _, name := range []string{"Uid", "Gid"} {
		ids := strings.Fields(field(name))
		if len(ids) > 1 && ids[0] != ids[1] {
			return refuse("it runs with more privileges than its user (setuid, setgid)")
		}
	}
	maps, err := readMaps(pid)
	if err != nil {
		return whyNotTraced(pid, err)
	}
	if len(maps) == 0 {
		return refuse("it is a kernel thread")
	}
	for _, m := range maps {
		switch {
		case m.Name == ourName:
			return whyAttached(pid)
		case strings.Contains(m.Name, "libcairn-spike.so"):
			return refuse("it was started with hooks")
		}
	}
	if why := whyNotProgram(pid); why != "" {
		return refuse("%s", why)
	}
	if limit := limitOf(pid, "Max file size"); limit < 1<<20 {
		return refuse("it can write files of at most %d bytes (ulimit -f)", limit)
	}
	if secure, err := auxiliary(pid, procmaps.AuxSecure); err == nil && secure != 0 {
		return refuse("it runs with more privileges than its user (setuid, setgid)")
	}
	return checkSeccomp(pid, field("Seccomp"))
}

// whyAttached refuses a process that has hooks, its own or its parent's.
func whyAttached(pid int) error {
	if p, err := openProcess(context.Background(), pid); err == nil {
		defer p.mem.Close()
		if at, err := findHeader(pid); err == nil {
			if err := p.refuseChild(at); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("process %d: cairn is already attached to it (to detach: cairn watch detach %[1]d)", pid)
}

// whyNotProgram returns what is wrong with the file of a program, "" if nothing is.
func whyNotProgram(pid int) string {
	f, err := objfile.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if errors.Is(err, objfile.ErrClass) { // the kernel's data about it has another format, too
		return "it is not a program for x86-64"
	}
	if err != nil {
		return "" // the planner of the hooks reports it
	}
	defer f.Close()
	switch {
	case f.Machine() != machine.X86_64:
		return fmt.Sprintf("its program is for %v, not for x86-64", f.Machine())
	case strings.Contains(f.Interpreter(), "/ld-musl"): // for which distributions use other file names
		return "its C library is musl, which hooks do not support"
	}
	return ""
}

// limitOf returns a limit of a process, the largest number if there is none.
func limitOf(pid int, name string) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	_, after, ok := strings.Cut(string(text), name)
	if f := strings.Fields(after); ok && len(f) > 0 {
		if n, err := strconv.ParseUint(f[0], 10, 64); err == nil {
			return n
		}
	}
	return ^uint64(0)
}

// auxiliary returns an entry of the auxiliary vector, 0 if there is none.
func auxiliary(pid int, kind uint64) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	value, _ := procmaps.Auxiliary(data, kind)
	return value, err
}

const (
	whyFiltered = "a filter restricts its system calls (seccomp), and may end it for those that cairn needs"
	whyStrict   = "it may make no system calls except read, write and exit (seccomp, strict)"
)

// isFiltered reports whether a thread has seccomp filters.
func isFiltered(tid int) bool {
	mode := statusField(fmt.Sprintf("/proc/%d/status", tid), "Seccomp")
	return mode != "" && mode != "0"
}

// checkSeccomp refuses processes that may make no system call, or whose filters we may not read. Other filters
// are judged when the program's threads are stopped.
func checkSeccomp(pid int, mode string) error {
	switch {
	case mode == "1":
		return fmt.Errorf("process %d: %s", pid, whyStrict)
	case mode == "2" && os.Geteuid() != 0:
		return fmt.Errorf("process %d: %s: only root can read it", pid, whyFiltered)
	}
	return nil
}

// tasks lists its threads.
func tasks(pid int) ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var out []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, tid)
		}
	}
	return out, nil
}

// isOwn reports whether a thread belongs to the attached library. It takes no signals, and runs no code of the
// program.
func isOwn(pid, tid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
	if err != nil || !strings.HasPrefix(string(name), "cairn-") {
		return false
	}
	blocked, _ := strconv.ParseUint(statusField(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid), "SigBlk"), 16, 64)
	return blocked&^(1<<6) == ^uint64(1<<6)&^(1<<8|1<<18)
}

// hasOwn reports whether the process has threads of an attached library; a child that the program forked has
// none.
func hasOwn(pid int) bool {
	list, _ := tasks(pid)
	return slices.ContainsFunc(list, func(tid int) bool { return isOwn(pid, tid) })
}

// statusField returns a field of a status file, "" if it is missing.
func statusField(path, field string) string {
	text, _ := os.ReadFile(path)
	_, after, ok := strings.Cut("\n"+string(text), "\n"+field+":")
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

// MakeDir creates a directory for logs of a process if it does not exist, writable for the user of the process.
// A process in another mount namespace creates it itself.
func MakeDir(pid int, dir string) error {
	if !sameNamespace(pid) {
		return nil
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	status := fmt.Sprintf("/proc/%d/status", pid)
	uids, gids := strings.Fields(statusField(status, "Uid")), strings.Fields(statusField(status, "Gid"))
	if os.Geteuid() != 0 || len(uids) < 4 || len(gids) < 4 {
		return nil
	}
	uid, err := strconv.Atoi(uids[3])
	gid, err2 := strconv.Atoi(gids[3])
	if err != nil || err2 != nil || uid == 0 {
		return nil
	}
	return os.Chown(dir, uid, gid)
}

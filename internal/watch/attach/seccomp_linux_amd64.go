package attach

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"unsafe"
)

// requestGetFilter reads the n-th of a thread's seccomp filters, the last one first. It requires CAP_SYS_ADMIN,
// and that the caller has no filter itself.
const requestGetFilter = 0x420c

// filters reads the filters of a stopped thread.
func filters(tid int) ([][]insn, error) {
	var out [][]insn
	for n := 0; ; n++ {
		size, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, requestGetFilter, uintptr(tid), uintptr(n), 0, 0, 0)
		if errno == syscall.ENOENT {
			return out, nil
		}
		if errno != 0 {
			return nil, errno
		}
		f := make([]insn, size)
		if size > 0 {
			if got, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, requestGetFilter, uintptr(tid), uintptr(n), uintptr(unsafe.Pointer(&f[0])), 0, 0); errno != 0 || got != size {
				return nil, errors.Join(errno, errors.New("the filter changes"))
			}
		}
		out = append(out, f)
	}
}

var _ = [1]struct{}{}[unsafe.Sizeof(insn{})-8] // the size in the kernel

// filtered caches results about filters: most threads share the same ones.
type filtered struct {
	filter []insn
	why    string
}

// forbids returns why a stopped thread may not make one of the system calls, "" if it may make all.
func (p *process) forbids(tid int, calls []call, known *[]filtered) string {
	switch statusField(fmt.Sprintf("/proc/%d/status", tid), "Seccomp") {
	case "", "0":
		return ""
	case "1":
		return whyStrict
	}
	list, err := filters(tid)
	if err != nil {
		return fmt.Sprintf("%s, and cannot be read: %v (only root can, outside of containers)", whyFiltered, err)
	}
	for _, f := range list {
		i := slices.IndexFunc(*known, func(k filtered) bool { return slices.Equal(k.filter, f) })
		if i < 0 {
			i = len(*known)
			*known = append(*known, filtered{f, whyForbidden(f, calls)})
		}
		if why := (*known)[i].why; why != "" {
			return why
		}
	}
	return ""
}

func whyForbidden(f []insn, calls []call) string {
	c, a := firstForbidden(f, calls)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("a filter restricts its system calls (seccomp), and under it %v %s", c, a.what())
}

// checkFilters refuses programs in which any thread may not make the system calls that the library needs.
func (p *process) checkFilters() error {
	var known []filtered
	calls := slices.Concat(callerCalls, libraryCalls)
	for tid := range p.threads {
		if why := p.forbids(tid, calls, &known); why != "" {
			return fmt.Errorf("process %d: %s", p.pid, why)
		}
	}
	return nil
}

package spikes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/saturate"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
)

// Why holds the known reasons why a call took long.
type Why struct {
	tracelog.Usage
	Slept tracelog.Interval // its time without the processor
	Call  string            // the system call that it waited in most, "" if it is not known
	// Tight says that the counts are mostly of the call, not of the time before it.
	Tight bool
}

// Why returns the known reasons why a spike took long, nil if there are none.
func (sp *Spike) Why() *Why {
	u := sp.Usage
	if u == nil {
		return nil
	}
	y := &Why{Usage: *u, Slept: less(sp.Peak, u.CPU)}
	if u.Call >= 0 && u.InCall > 0 {
		y.Call = systemCall(u.Call)
	}
	y.Tight = u.Since != 0 && since(sp.Time, u.Since) <= sp.Peak.Hi+sp.Peak.Hi/4
	return y
}

// most reports whether a part is at least that many tenths of a whole.
func most(part, whole, tenths uint64) bool {
	return float64(part)*10 >= float64(whole)*float64(tenths)
}

// WaitedForWork reports whether a spike was only a wait for work, which is not ranked.
func (sp *Spike) WaitedForWork() bool { return sp.Why().waitsForWork(sp.Peak) }

// waitsForWork reports whether a call only waited in a system call in which programs wait for work.
func (y *Why) waitsForWork(time tracelog.Interval) bool {
	return y != nil && forWork[y.Usage.Call] && y.InCall > 0 && 4*uint32(y.InCall) >= 3*uint32(y.Waits) && most(y.Slept.Lo, time.Lo, 8)
}

// Text describes the reasons in a few words.
func (y *Why) Text(time tracelog.Interval) string {
	var words []string
	switch {
	case most(y.CPU.Lo, time.Hi, 9):
		words = append(words, "ran all the time")
	case y.Slept.Hi == 0 || !most(y.Slept.Hi, time.Lo, 1):
		words = append(words, "ran nearly all the time")
	case most(y.Slept.Lo, time.Lo, 1):
		words = append(words, y.waited()+" "+of(y.Slept, time)+y.where())
	}
	count := func(n uint32, one, many string, least uint32) {
		if n >= least {
			words = append(words, either(y.Tight, "", "at most ")+count(uint64(n), one, many))
		}
	}
	count(y.Major, "major page fault", "major page faults", 1)
	count(y.Minor, "page fault", "page faults", 100)
	return strings.Join(words, ", ")
}

// waited describes what a thread did that did not run.
func (y *Why) waited() string {
	if 2*uint32(y.Ready) > uint32(y.Waits) || y.Waits == 0 && y.Voluntary == 0 && y.Involuntary > 0 {
		return "waited for a processor"
	}
	return "slept"
}

func (y *Why) where() string {
	switch {
	case y.Call == "" || 2*uint32(y.Ready) > uint32(y.Waits):
		return ""
	case 10*uint32(y.InCall) < 9*uint32(y.Waits):
		return ", most in " + y.Call
	}
	return " in " + y.Call
}

// of formats a part of a duration: "24.9 of 25.0 ms".
func of(part, whole tracelog.Interval) string {
	a, b := Interval(part), Interval(whole)
	number, unit, _ := strings.Cut(a, " ")
	if strings.HasSuffix(b, " "+unit) {
		a = number
	}
	return a + " of " + b
}

// forWork are the system calls in which programs wait for work.
var forWork = map[int]bool{7: true, 23: true, 43: true, 128: true, 232: true, 270: true, 271: true, 281: true, 288: true, 426: true, 441: true}

// systemCall returns the name of a system call of x86-64 in which a thread may wait.
func systemCall(number int) string {
	if name, ok := systemCalls[number]; ok {
		return name
	}
	return fmt.Sprintf("system call %d", number)
}

var systemCalls = map[int]string{
	0: "read", 1: "write", 2: "open", 3: "close", 4: "stat", 5: "fstat", 6: "lstat", 7: "poll", 9: "mmap", 10: "mprotect", 11: "munmap", 12: "brk",
	16: "ioctl", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev", 23: "select", 24: "sched_yield", 25: "mremap", 26: "msync",
	28: "madvise", 34: "pause", 35: "nanosleep", 40: "sendfile", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg",
	47: "recvmsg", 48: "shutdown", 56: "clone", 57: "fork", 58: "vfork", 59: "execve", 61: "wait4", 65: "semop", 69: "msgsnd", 70: "msgrcv",
	72: "fcntl", 73: "flock", 74: "fsync", 75: "fdatasync", 76: "truncate", 77: "ftruncate", 78: "getdents", 82: "rename", 83: "mkdir",
	84: "rmdir", 85: "creat", 87: "unlink", 128: "rt_sigtimedwait", 130: "rt_sigsuspend", 149: "mlock", 151: "mlockall", 162: "sync",
	165: "mount", 187: "readahead", 202: "futex", 217: "getdents64", 220: "semtimedop", 230: "clock_nanosleep", 232: "epoll_wait",
	247: "waitid", 257: "openat", 262: "newfstatat", 263: "unlinkat", 264: "renameat", 270: "pselect6", 271: "ppoll", 275: "splice",
	277: "sync_file_range", 281: "epoll_pwait", 285: "fallocate", 288: "accept4", 295: "preadv", 296: "pwritev", 299: "recvmmsg",
	306: "syncfs", 307: "sendmmsg", 316: "renameat2", 318: "getrandom", 326: "copy_file_range", 327: "preadv2", 328: "pwritev2",
	426: "io_uring_enter", 435: "clone3", 441: "epoll_pwait2", 449: "futex_waitv",
}

// Waiting names the calls that only waited for work, in a sentence; "" if there are none.
func (w *Writer) Waiting() string {
	seen := make(map[string]uint64)
	for _, g := range w.Set.Groups {
		if g.waits() {
			loc := w.Name(g.Worst.Addrs[0], g.Worst.isCall(0))
			name := report.Printable(loc.Outer().Function) + " in " + g.Worst.Why().Call
			seen[name] = saturate.Add(seen[name], g.Seen)
		}
	}
	if len(seen) == 0 {
		return ""
	}
	const most = 6
	names := slices.SortedFunc(maps.Keys(seen), func(a, b string) int { return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b)) })
	rest := len(names) - min(most, len(names))
	names = names[:len(names)-rest]
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (seen %s)", name, count(seen[name], "time", "times"))
	}
	if rest > 0 {
		names = append(names, count(uint64(rest), "more function", "more functions"))
	}
	return "waited for work, and not ranked: " + strings.Join(names, ", ")
}

package attach

import (
	"fmt"
	"strings"
)

// call is a system call, with the known arguments.
type call struct {
	name string
	nr   uint32
	args []uint64 // those that a filter may test: unknown, or the value
	// failing says that nothing is lost if it fails.
	failing bool
}

const (
	unknown   = 1 << 63
	archAMD64 = 0xc000003e // AUDIT_ARCH_X86_64
)

// data returns what a filter reads at an offset of struct seccomp_data.
func (c *call) data(at uint32) (word, bool) {
	if at%4 != 0 || at >= sizeofData {
		return word{}, false
	}
	switch i := (int(at) - 16) / 8; {
	case at == 0:
		return word{c.nr, true}, true
	case at == 4:
		return word{archAMD64, true}, true
	case at < 16, i >= len(c.args), c.args[i] == unknown:
		return word{}, true // the address of the instruction, among others
	case at%8 == 0:
		return word{uint32(c.args[i]), true}, true
	default:
		return word{uint32(c.args[i] >> 32), true}, true
	}
}

// String returns the call as users know it: memfd_create(_, 0x1).
func (c *call) String() string {
	var args []string
	for _, a := range c.args {
		if a == unknown {
			args = append(args, "_")
		} else {
			args = append(args, fmt.Sprintf("%#x", a))
		}
	}
	if args == nil {
		return c.name
	}
	return c.name + "(" + strings.Join(args, ", ") + ")"
}

// callerCalls are those that a caller makes to put memory into a program and to remove it.
var callerCalls = []call{
	{name: "rt_sigreturn", nr: 15},
	{name: "memfd_create", nr: memfdCreate, args: []uint64{unknown, closeOnExec}},
	{name: "ftruncate", nr: 77},
	{name: "mmap", nr: 9, args: []uint64{unknown, unknown, protRW}},
	{name: "mmap", nr: 9, args: []uint64{unknown, unknown, protNone}},
	{name: "munmap", nr: 11},
	{name: "madvise", nr: 28},
	{name: "close", nr: 3},
	{name: "futex", nr: 202, args: []uint64{unknown, 129}},
}

const (
	readOnly  = 0o2000000  // O_RDONLY|O_CLOEXEC
	makeNew   = 0o2000302  // O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC
	nameless  = 0o22200002 // O_TMPFILE|O_RDWR|O_CLOEXEC
	readWrite = 0o644
)

// libraryCalls are the other calls of the library, in its threads and in those of the program, and those that
// make its code executable. TestCalls compares them with its code.
var libraryCalls = []call{
	{name: "mprotect", nr: 10, args: []uint64{unknown, unknown, protRX}},
	{name: "mprotect", nr: 10, args: []uint64{unknown, unknown, protRead}},
	{name: "read", nr: 0},
	{name: "open", nr: 2, args: []uint64{unknown, readOnly, 0}},
	{name: "open", nr: 2, args: []uint64{unknown, makeNew, readWrite}},
	{name: "open", nr: 2, args: []uint64{unknown, nameless, readWrite}, failing: true},
	{name: "fstat", nr: 5},
	{name: "lseek", nr: 8},
	{name: "rt_sigaction", nr: 13},
	{name: "rt_sigprocmask", nr: 14},
	{name: "pread64", nr: 17, failing: true},
	{name: "pwrite64", nr: 18},
	{name: "sched_yield", nr: 24, failing: true},
	{name: "getpid", nr: 39},
	{name: "clone", nr: 56, args: []uint64{0x50f00, unknown, 0, 0, 0}},
	{name: "exit", nr: 60},
	{name: "fcntl", nr: 72, args: []uint64{unknown, 1030}, failing: true},
	{name: "rename", nr: 82, failing: true},
	{name: "mkdir", nr: 83, args: []uint64{unknown, 0o777}, failing: true},
	{name: "link", nr: 86, failing: true},
	{name: "unlink", nr: 87, failing: true},
	{name: "readlink", nr: 89},
	{name: "getrlimit", nr: 97},
	{name: "getrusage", nr: 98},
	{name: "getuid", nr: 102},
	{name: "getgid", nr: 104},
	{name: "geteuid", nr: 107},
	{name: "getegid", nr: 108},
	{name: "setpriority", nr: 141, failing: true},
	{name: "sched_setscheduler", nr: 144, args: []uint64{0, 1}, failing: true},
	{name: "prctl", nr: 157, args: []uint64{15}}, // its threads are identified by their names
	{name: "prctl", nr: 157, args: []uint64{29, 1}, failing: true},
	{name: "setrlimit", nr: 160, failing: true},
	{name: "gettid", nr: 186},
	{name: "futex", nr: 202, args: []uint64{unknown, 128}},
	{name: "getdents64", nr: 217},
	{name: "clock_gettime", nr: 228},
	{name: "tgkill", nr: 234},
	{name: "linkat", nr: 265, failing: true},
	{name: "fallocate", nr: 285},
	{name: "process_vm_readv", nr: 310},
	{name: "renameat2", nr: 316, failing: true},
}

// what describes the effect of an action on the program.
func (a action) what() string {
	switch a {
	case actEndThread, actEndProcess:
		return "ends the program"
	case actTrap:
		return "sends it a signal"
	case actErrno:
		return "fails"
	case actNotify, actTrace:
		return "is decided by another program"
	}
	return "has an unpredictable result"
}

// firstForbidden returns the first of the calls that a filter does not allow, and the filter's action; nil if
// it allows all.
func firstForbidden(filter []insn, calls []call) (*call, action) {
	for i := range calls {
		c, bad, worst := &calls[i], false, action(0)
		eachResult(filter, c, func(a action) {
			if !a.allows() && (a != actErrno || !c.failing) {
				bad, worst = true, a
			}
		})
		if bad {
			return c, worst
		}
	}
	return nil, 0
}

package tracelog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// SystemCalls is a table of the numbers of system calls. Those of Linux in a log are those of the kernel, as
// /proc/PID/syscall has them: an emulator makes the calls of the machine that it runs on, whatever the program is for.
type SystemCalls uint32

// Tables.
const (
	CallsOlder   SystemCalls = wire.CallsOlder   // not stated: that of x86-64
	CallsX86_64  SystemCalls = wire.CallsX86_64  // arch/x86/entry/syscalls/syscall_64.tbl
	CallsGeneric SystemCalls = wire.CallsGeneric // include/uapi/asm-generic/unistd.h: AArch64 and newer machines
	CallsWindows SystemCalls = wire.CallsWindows // wire.WindowsCalls
	CallsArm     SystemCalls = wire.CallsArm     // arch/arm/tools/syscall.tbl
	CallsMacOS   SystemCalls = wire.CallsMacOS   // XNU's bsd/kern/syscalls.master and, behind wire.MachTraps, its traps of Mach
	CallsUnknown SystemCalls = wire.CallsUnknown
)

// Name returns the name of a system call, such as futex, or "a page fault" for that of wire.CallFault, and "" for a negative
// number. Calls that have no name in the
// table are called by their numbers.
func (t SystemCalls) Name(number int) string {
	switch {
	case number < 0:
		return ""
	case uint64(number) == wire.CallFault:
		return "a page fault"
	}
	var old, added []string
	switch t {
	case CallsWindows:
		if names := callNames().windows; number < len(names) {
			return names[number]
		}
		return "a system call"
	case CallsMacOS:
		if i := slices.Index(callNames().macOS, strconv.Itoa(number)); i >= 0 {
			return callNames().macOS[i+1]
		}
		if number > wire.MachTraps {
			return fmt.Sprintf("trap %d of Mach", number-wire.MachTraps)
		}
		return fmt.Sprintf("system call %d", number)
	case CallsArm:
		if i := slices.Index(callNames().arm, strconv.Itoa(number)); i >= 0 {
			return callNames().arm[i+1]
		}
		added = callNames().added
	case CallsOlder, CallsX86_64:
		old, added = callNames().x86_64, callNames().added
	case CallsGeneric:
		old, added = callNames().generic, callNames().added
	}
	at := number
	if number >= firstAdded {
		old, at = added, number-firstAdded
	}
	if at < len(old) && old[at] != "-" {
		return old[at]
	}
	return fmt.Sprintf("system call %d", number)
}

var callNames = sync.OnceValue(func() (n struct{ x86_64, generic, added, arm, macOS, windows []string }) {
	n.windows, n.arm, n.macOS = strings.Fields(wire.WindowsCalls), strings.Fields(namesArm), strings.Fields(namesMacOS)
	n.x86_64, n.generic, n.added = strings.Fields(namesX86_64), strings.Fields(namesGeneric), strings.Fields(namesAdded)
	return n
})

// The names of the system calls, from number 0 on; of those since Linux 5.1, which have one number on all machines, from
// firstAdded on. "-" has none. Of Armv7 and of macOS those in which threads wait, behind their numbers.
const (
	firstAdded = 424

	namesArm = "3 read 4 write 5 open 6 close 36 sync 54 ioctl 72 sigsuspend 114 wait4 118 fsync 142 select 143 flock 145 " +
		"readv 146 writev 148 fdatasync 158 sched_yield 162 nanosleep 168 poll 177 rt_sigtimedwait 179 rt_sigsuspend 180 pread64 181 " +
		"pwrite64 221 fcntl 240 futex 252 epoll_wait 265 clock_nanosleep 280 waitid 283 connect 285 accept 289 send 290 " +
		"sendto 291 recv 292 recvfrom 296 sendmsg 297 recvmsg 322 openat 335 pselect6 336 ppoll 346 epoll_pwait 366 " +
		"accept4"

	namesMacOS = "3 read 4 write 5 open 6 close 7 wait4 27 recvmsg 28 sendmsg 29 recvfrom 30 accept 36 sync 54 ioctl 65 msync 73 " +
		"munmap 75 madvise 92 fcntl 93 select 95 fsync 98 connect 111 sigsuspend 120 readv 121 writev 128 rename 131 flock 133 sendto " +
		"153 pread 154 pwrite 173 waitid 187 fdatasync 197 mmap 230 poll 261 msgrcv 271 sem_wait 301 psynch_mutexwait " +
		"305 psynch_cvwait 306 psynch_rw_rdlock 307 psynch_rw_wrlock 315 aio_suspend 330 __sigwait 334 __semwait_signal 337 sendfile " +
		"338 stat64 339 fstat64 340 lstat64 344 getdirentries64 363 kevent 368 workq_kernreturn 369 kevent64 374 kevent_qos 375 " +
		"kevent_id 394 pselect 395 pselect 396 read 397 write 398 open 399 close 400 wait4 401 recvmsg 402 sendmsg 403 recvfrom 404 " +
		"accept 405 msync 406 fcntl 407 select 408 fsync 409 connect 410 sigsuspend 411 readv 412 writev 413 sendto 414 pread 415 " +
		"pwrite 416 waitid 417 poll 419 msgrcv 420 sem_wait 421 aio_suspend 422 __sigwait 423 __semwait_signal 463 openat 464 openat " +
		"515 ulock_wait 544 ulock_wait2 1055 mach_msg 1056 mach_msg 1060 semaphore_wait 1061 semaphore_wait_signal 1062 " +
		"semaphore_timedwait 1063 semaphore_timedwait_signal 1071 mach_msg2 1083 swtch_pri 1084 swtch 1085 thread_switch 1086 " +
		"clock_sleep 1114 mach_wait_until"

	namesX86_64 = "read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask " +
		"rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise " +
		"shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile socket connect accept " +
		"sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt " +
		"clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv msgctl fcntl flock " +
		"fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink " +
		"readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid " +
		"syslog getgid setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups " +
		"setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget capset rt_sigpending " +
		"rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib personality ustat statfs fstatfs " +
		"sysfs getpriority setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler " +
		"sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall vhangup " +
		"modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex setrlimit chroot sync acct settimeofday mount umount2 " +
		"swapon swapoff reboot sethostname setdomainname iopl ioperm create_module init_module delete_module " +
		"get_kernel_syms query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid readahead " +
		"setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr " +
		"lremovexattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity set_thread_area io_setup " +
		"io_destroy io_getevents io_submit io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old " +
		"epoll_wait_old remap_file_pages getdents64 set_tid_address restart_syscall semtimedop fadvise64 timer_create " +
		"timer_settime timer_gettime timer_getoverrun timer_delete clock_settime clock_gettime clock_getres " +
		"clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes vserver mbind set_mempolicy get_mempolicy mq_open " +
		"mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl " +
		"ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat " +
		"fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll " +
		"unshare set_robust_list get_robust_list splice tee sync_file_range vmsplice move_pages utimensat epoll_pwait " +
		"signalfd timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 " +
		"epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init " +
		"fanotify_mark prlimit64 name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns getcpu " +
		"process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 seccomp getrandom " +
		"memfd_create kexec_file_load bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 " +
		"pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq"
	namesGeneric = "io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr " +
		"listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr getcwd lookup_dcookie eventfd2 " +
		"epoll_create1 epoll_ctl epoll_pwait dup dup3 fcntl inotify_init1 inotify_add_watch inotify_rm_watch ioctl " +
		"ioprio_set ioprio_get flock mknodat mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root " +
		"nfsservctl statfs fstatfs truncate ftruncate fallocate faccessat chdir fchdir chroot fchmod fchmodat fchownat " +
		"fchown openat close vhangup pipe2 quotactl getdents64 lseek read write readv writev pread64 pwrite64 preadv " +
		"pwritev sendfile pselect6 ppoll signalfd4 vmsplice splice tee readlinkat newfstatat fstat sync fsync fdatasync " +
		"sync_file_range timerfd_create timerfd_settime timerfd_gettime utimensat acct capget capset personality exit " +
		"exit_group waitid set_tid_address unshare futex set_robust_list get_robust_list nanosleep getitimer setitimer " +
		"kexec_load init_module delete_module timer_create timer_gettime timer_getoverrun timer_settime timer_delete " +
		"clock_settime clock_gettime clock_getres clock_nanosleep syslog ptrace sched_setparam sched_setscheduler " +
		"sched_getscheduler sched_getparam sched_setaffinity sched_getaffinity sched_yield sched_get_priority_max " +
		"sched_get_priority_min sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack rt_sigsuspend " +
		"rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigreturn setpriority getpriority " +
		"reboot setregid setgid setreuid setuid setresuid getresuid setresgid getresgid setfsuid setfsgid times setpgid " +
		"getpgid getsid setsid getgroups setgroups uname sethostname setdomainname getrlimit setrlimit getrusage umask " +
		"prctl getcpu gettimeofday settimeofday adjtimex getpid getppid getuid geteuid getgid getegid gettid sysinfo " +
		"mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr msgget msgctl msgrcv msgsnd semget semctl " +
		"semtimedop semop shmget shmctl shmat shmdt socket socketpair bind listen accept connect getsockname getpeername " +
		"sendto recvfrom setsockopt getsockopt shutdown sendmsg recvmsg readahead brk munmap mremap add_key request_key " +
		"keyctl clone execve mmap fadvise64 swapon swapoff mprotect msync mlock munlock mlockall munlockall mincore " +
		"madvise remap_file_pages mbind get_mempolicy set_mempolicy migrate_pages move_pages rt_tgsigqueueinfo " +
		"perf_event_open accept4 recvmmsg - - - - - - - - - - - - - - - - wait4 prlimit64 fanotify_init fanotify_mark " +
		"name_to_handle_at open_by_handle_at clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp " +
		"finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat userfaultfd " +
		"membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq " +
		"kexec_file_load"
	namesAdded = "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount " +
		"fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr " +
		"quotactl_fd landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret process_mrelease " +
		"futex_waitv set_mempolicy_home_node"
)

package timing

import (
	"bytes"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// A small function without a loop is quick, unless it calls something that can block: then it may take long
// itself, and without a probe its time would be attributed to its caller. Such calls are recognized by name:
// the functions of the C library that wait for a file, a peer, a lock or the time. Of 3,376 functions of redis
// 860 have probes because of their size or a loop, and 93 more call one of these. Another 148 allocate, which
// may fault: they get no probes, as they make up many of the calls of most programs, and functions that fault
// much do so in a loop.

// blocking are the names, without the underscores that variants begin with.
var blocking = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, list := range []string{
		"sleep usleep nanosleep clock_nanosleep pause sigsuspend sigwait sigwaitinfo sigtimedwait",
		"read pread pread64 readv preadv write pwrite pwrite64 writev pwritev open open64 openat openat64 creat close fsync fdatasync sync syncfs msync",
		"fread fwrite fgets fgetc getc getline getdelim fputs fputc putc puts printf fprintf vfprintf fflush fopen fopen64 fclose fdopen",
		"stat lstat fstat stat64 access opendir readdir readdir64 rename unlink mkdir rmdir ftruncate truncate fallocate posix_fallocate sendfile splice copy_file_range",
		"select pselect poll ppoll epoll_wait epoll_pwait accept accept4 connect recv recvfrom recvmsg send sendto sendmsg getaddrinfo gethostbyname ioctl fcntl flock lockf",
		"pthread_mutex_lock pthread_mutex_timedlock pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_cond_wait pthread_cond_timedwait pthread_join pthread_barrier_wait",
		"sem_wait sem_timedwait mtx_lock cnd_wait thrd_sleep thrd_join semop semtimedop msgrcv msgsnd mq_receive mq_send",
		"wait waitpid wait3 wait4 waitid system fork vfork posix_spawn dlopen mmap mmap64 munmap mprotect madvise syscall futex",
		"sched_yield getrandom getpass",
		"Sleep SleepEx SwitchToThread WaitForSingleObject WaitForSingleObjectEx WaitForMultipleObjects WaitForMultipleObjectsEx WaitOnAddress SignalObjectAndWait",
		"EnterCriticalSection __cairn_enter_critical_section AcquireSRWLockExclusive AcquireSRWLockShared SleepConditionVariableCS SleepConditionVariableSRW InitOnceExecuteOnce",
		"CreateFileA CreateFileW ReadFile WriteFile CloseHandle FlushFileBuffers DeviceIoControl GetOverlappedResult FindFirstFileA FindFirstFileW GetQueuedCompletionStatus",
		"LoadLibraryA LoadLibraryW LoadLibraryExA LoadLibraryExW VirtualAlloc VirtualFree MapViewOfFile CreateProcessA CreateProcessW WSARecv WSASend",
		"GetMessageA GetMessageW MsgWaitForMultipleObjects SendMessageA SendMessageW SwapBuffers DwmFlush fopen_s",
	} {
		for _, name := range bytes.Fields([]byte(list)) {
			names[string(name)] = true
		}
	}
	return names
})

// mayBlock reports whether a body calls a function that can block, suspends its stack or ends a thread, or the kernel
// itself.
func (b *body) mayBlock() bool {
	for i := range b.insns {
		in := &b.insns[i]
		if in.word == "syscall" || suspends(in.effect.callee) || leavesStack(in) || endsThread[in.effect.callee] || cancelsThread[in.effect.callee] || in.flow == asm.FlowCall && (blocking()[called(in.target)] || blocking()[called(b.loaded(i))]) {
			return true
		}
	}
	return false
}

// called returns the function that an operand of a call names, "" if none: "puts@PLT", "*puts@GOTPCREL(%rip)",
// "__read_chk".
func called(target []byte) string {
	target = bytes.TrimPrefix(target, []byte("*"))
	if i := bytes.IndexAny(target, "@(+ "); i >= 0 {
		target = target[:i]
	}
	target = bytes.TrimLeft(target, "_")
	for _, prefix := range []string{"imp_", "libc_", "GI_", "isoc99_", "isoc23_"} {
		target = bytes.TrimPrefix(target, []byte(prefix))
	}
	for _, inlined := range []string{"Z6printf", "Z7fprintf", "Z8vfprintf"} { // of mingw-w64's headers, in C++
		if bytes.HasPrefix(target, []byte(inlined)) {
			return inlined[2:]
		}
	}
	return string(bytes.TrimSuffix(target, []byte("_chk")))
}

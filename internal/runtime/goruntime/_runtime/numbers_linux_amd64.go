package runtime

// Numbers of Linux's system calls.
const (
	cairnSysOpenat       = 257
	cairnSysClose        = 3
	cairnSysMkdirat      = 258
	cairnSysRenameat2    = 316
	cairnSysLinkat       = 265
	cairnSysUnlinkat     = 263
	cairnSysMmap         = 9
	cairnSysGetpid       = 39
	cairnSysReadlinkat   = 267
	cairnSysGetrandom    = 318
	cairnSysFallocate    = 285
	cairnSysPwrite64     = 18
	cairnSysPrlimit64    = 302
	cairnSysGetcwd       = 79
	cairnSysFtruncate    = 77
	cairnSysFstat        = 5
	cairnSysClockGettime = 228
	cairnSysGetsockname  = 51
	cairnSysGetrusage    = 98
	cairnSysGetpeername  = 52
	cairnSysGetsockopt   = 55

	cairnNameless = 0x410000 // O_TMPFILE
)

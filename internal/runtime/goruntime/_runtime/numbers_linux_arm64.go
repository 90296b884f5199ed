package runtime

// Numbers of Linux's system calls.
const (
	cairnSysOpenat       = 56
	cairnSysClose        = 57
	cairnSysMkdirat      = 34
	cairnSysRenameat2    = 276
	cairnSysLinkat       = 37
	cairnSysUnlinkat     = 35
	cairnSysMmap         = 222
	cairnSysGetpid       = 172
	cairnSysReadlinkat   = 78
	cairnSysGetrandom    = 278
	cairnSysFallocate    = 47
	cairnSysPwrite64     = 68
	cairnSysPrlimit64    = 261
	cairnSysGetcwd       = 17
	cairnSysFtruncate    = 46
	cairnSysFstat        = 80
	cairnSysClockGettime = 113
	cairnSysGetsockname  = 204
	cairnSysGetrusage    = 165
	cairnSysGetpeername  = 205
	cairnSysGetsockopt   = 209

	cairnNameless = 0x404000 // O_TMPFILE
)

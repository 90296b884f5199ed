package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"unsafe"
)

// A file cannot be mapped over the records, which are memory of the program's file. They are copied to the mapped file
// each second, and when the process ends. What is around them does not matter then, and takes memory of the system's limit
// even if it is never touched, so that there is little of it before the records.
const (
	cairnMapsOver  = false
	cairnFrontRoom = 64
)

var (
	cairnView    uintptr // where the file is mapped
	cairnFrom    uintptr // the records
	cairnTo      uintptr // where they are in the file, 0 if nothing is recorded
	cairnLength  uintptr
	cairnCopying uint32 // whether a thread copies them
)

// cairnMap maps the file of fd, all of it at the first call, and returns where the part at off is. With an address, it has
// what is there copied to the file.
func cairnMap(addr, n, flags, fd, off uintptr) (uintptr, uintptr) {
	if cairnView == 0 {
		const readWrite, write = 4, 2
		mapping, err := cairnInvoke(_cairnCreateFileMappingW, fd, 0, readWrite, 0, 0, 0)
		if mapping == 0 {
			return 0, err
		}
		cairnView, err = cairnInvoke(_cairnMapViewOfFile, mapping, write, 0, 0, 0)
		cairnClose(mapping)
		if cairnView == 0 {
			return 0, err
		}
	}
	if addr != 0 {
		// What is behind the records is not copied: first executions are there in the file.
		cairnFrom, cairnTo, cairnLength = addr, cairnView+off, uintptr(cairnPlaces[1])-addr
	}
	return cairnView + off, 0
}

// cairnCopy copies the pages that changed.
//
//go:nosplit
func cairnCopy() {
	const page = 4096
	for at := uintptr(0); at < cairnLength; at += page {
		from, to := unsafe.Pointer(cairnFrom+at), unsafe.Pointer(cairnTo+at)
		if n := min(page, cairnLength-at); !memequal(from, to, n) {
			memmove(to, from, n)
		}
	}
}

// cairnThread starts the thread that copies, once threads can be started.
func cairnThread() {
	if cairnTo != 0 {
		systemstack(func() { newm(cairnCopyEach, nil, -1) })
		cairnLibrary()
	}
}

// cairnCopyEach is that thread. It has no P.
func cairnCopyEach() {
	lock(&sched.lock)
	sched.nmsys++
	checkdead()
	unlock(&sched.lock)
	for {
		usleep(1_000_000)
		if atomic.Cas(&cairnCopying, 0, 1) {
			cairnCopy()
			atomic.Store(&cairnCopying, 0)
		}
	}
}

//go:cgo_import_dynamic runtime._cairnGetModuleHandleW GetModuleHandleW%1 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnVirtualProtect VirtualProtect%4 "kernel32.dll"

// The loader puts the functions here.
var _cairnGetModuleHandleW, _cairnVirtualProtect stdFunction

var cairnProtection uint32 // that of the copier's memory before

// cairnLibraries are the C libraries of Windows, and their functions that take one to call when the process ends.
var cairnLibraries = [...]struct{ file, atexit string }{{"msvcrt.dll\x00", "_onexit\x00"}, {"ucrtbase.dll\x00", "_crt_atexit\x00"}}

// cairnLibrary has a program that is not in Go copy the records of this library when it ends by exit, of whichever C library it is.
// Go is not entered then: other threads may be gone with locks that it takes, and the one that ends may be Go's.
func cairnLibrary() {
	if !islibrary || cairnTo == 0 || goarch.IsAmd64 == 0 {
		return
	}
	copier := cairnCopier()
	for i := range cairnLibraries {
		l := &cairnLibraries[i]
		module, _ := cairnInvoke(_cairnGetModuleHandleW, cairnWide(&cairnPath, unsafe.StringData(l.file)))
		if module == 0 || copier == 0 {
			continue
		}
		if atexit, _ := cairnInvoke(_GetProcAddress, module, uintptr(unsafe.Pointer(unsafe.StringData(l.atexit)))); atexit != 0 {
			cairnInvoke(stdFunction(unsafe.Pointer(atexit)), copier)
		}
	}
}

// cairnCopier returns the address of machine code for x86-64 that copies the records and returns 0, or 0 if the system lets a process
// have none.
func cairnCopier() uintptr {
	const size, executable = 64, 0x20 // PAGE_EXECUTE_READ
	at, _ := cairnInvoke(_VirtualAlloc, 0, size, _MEM_COMMIT|_MEM_RESERVE, _PAGE_READWRITE)
	if at == 0 {
		return 0
	}
	n := uintptr(0)
	put := func(code string) {
		for i := range len(code) {
			*(*byte)(unsafe.Pointer(at + n)) = code[i]
			n++
		}
	}
	set := func(code string, to uintptr) {
		put(code)
		*(*uintptr)(unsafe.Pointer(at + n)) = to
		n += 8
	}
	put("\x56\x57")                     // push rsi; push rdi
	set("\x48\xbe", cairnFrom)          // mov rsi, cairnFrom
	set("\x48\xbf", cairnTo)            // mov rdi, cairnTo
	set("\x48\xb9", cairnLength)        // mov rcx, cairnLength
	put("\xf3\xa4\x5f\x5e\x31\xc0\xc3") // rep movsb; pop rdi; pop rsi; xor eax, eax; ret
	if ok, _ := cairnInvoke(_cairnVirtualProtect, at, size, executable, uintptr(unsafe.Pointer(&cairnProtection))); ok == 0 {
		return 0
	}
	return at
}

// cairnExit copies the records when the process ends. No other thread copies afterwards what is older. A copy does not end if
// the file has failed, as that of a drive that is gone: the thread that copies is then the one that ends the process. A second
// call does nothing.
//
//go:nosplit
func cairnExit() {
	const tries = 1_000_000 // about a second
	if cairnTo == 0 {
		return
	}
	for i := 0; !atomic.Cas(&cairnCopying, 0, 1); i++ {
		if i == tries {
			return
		}
		osyield()
	}
	cairnCopy()
	cairnTo = 0
}

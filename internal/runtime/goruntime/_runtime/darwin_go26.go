//go:build go1.26

package runtime

// These call a function of libSystem. err is undefined if the function does not return -1.

func cairnCall3(fn, a, b, c uintptr) (r1, r2, err uintptr) {
	return syscall_rawsyscalln(fn, a, b, c)
}

func cairnCall4(fn, a, b, c, d uintptr) (r1, r2, err uintptr) {
	return syscall_rawsyscalln(fn, a, b, c, d)
}

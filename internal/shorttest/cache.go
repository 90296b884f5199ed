package shorttest

import (
	"cmp"
	"os"
)

// Cache returns the directory of cairn's cache for the programs that a test starts: the one that make test has for
// all packages, so that each runtime is compiled once, or own if the test runs by itself. What depends on a cache
// that is empty must not use it.
func Cache(own string) string { return cmp.Or(os.Getenv("CAIRN_TEST_CACHE"), own) }

package coverage

import (
	"path"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// systemPath matches the files that compilers find without being told where: their own headers,
// the C and C++ libraries, and all that is installed below /usr/include or a sysroot. Directories
// that a build names with -isystem are not recorded in debug information, and are not matched.
//
// Compilers put them into these directories:
//
//	/usr/include, /usr/local/include                      the system's
//	/usr/TARGET/include, sys-include, sys-root, sysroot   cross compilers of distributions
//	*/sysroot*/usr/include, *.sdk/usr/include             SDKs of Yocto, Android, Apple
//	/nix/store/NAME/include                               Nix
//	*/lib*/gcc/TARGET/VERSION, */lib*/gcc-cross/...       gcc's headers and plugins
//	*/lib*/clang/VERSION, /usr/lib/llvm-VERSION           clang's
//	*/include/c++/VERSION                                 libstdc++ (VERSION), libc++ (v1)
//	/usr/share/mingw-w64                                  MinGW's
//	/rustc/COMMIT, /rust/deps                             Rust's library and what it is made of
//	/_/GOROOT                                             Go's, as cgo names it
var systemPath = lazyregexp.New(`^/usr/(local/)?include/` +
	`|^/usr/[^/]+-[^/]+/(include|sys-include|sys-root|sysroot)/` +
	`|/sysroot[^/]*/(.*/)?usr/include/|\.sdk/usr/include/` +
	`|^/nix/store/[^/]+/include/` +
	`|/lib[^/]*/gcc(-cross)?/[^/]+-[^/]+/\d[^/]*/` +
	`|/lib[^/]*/clang/\d[^/]*/|^/usr/lib[^/]*/llvm-?\d[^/]*/` +
	`|/include/c\+\+/(v\d+|\d[^/]*)/` +
	`|^/usr/share/mingw-w64/` +
	`|^/rustc/[0-9a-f]{40}/|^/rust/deps/|^/_/GOROOT/`)

// SystemFile reports whether a file belongs to the compiler or the system, by its path in debug
// information.
func SystemFile(file string) bool { return systemPath().MatchString(path.Clean(file)) }

// LeftOut counts what reports leave out as it belongs to the compiler or the system.
type LeftOut struct {
	Files, Functions, Lines int
}

// LeftOut counts what Apply omits of files since it is the system's.
func (r *PathRules) LeftOut(files []SourceFile) (n LeftOut) {
	for i := range files {
		if r.omitsSystem(files[i].File) {
			n.Files++
			n.Functions += len(files[i].Funcs)
			n.Lines += len(files[i].Lines)
		}
	}
	return n
}

// omitsSystem reports whether the report omits a file since it is the system's.
func (r *PathRules) omitsSystem(file string) bool { return !r.System && SystemFile(file) }

// Package catch is the library that cairn build loads into every program of a build, to run cairn in place of
// compilers. It is C, compiled on first use; this package holds its source and the names that it shares with
// cairn.
package catch

import _ "embed"

// The environment of a build.
const (
	EnvBuild  = "CAIRN_BUILD"     // directory with the flags of the build, and cairn
	EnvLog    = "CAIRN_BUILD_LOG" // file that gets a JSON line per object
	EnvSelf   = "CAIRN_SELF"      // path of cairn, on Windows, where what it stands in by has other ones
	EnvTool   = "CAIRN_TOOL"      // path of the tool that cairn is started for
	EnvCaught = "CAIRN_CAUGHT"    // set below a caught compiler, whose children need nothing more
	EnvRust   = "CAIRN_RUST"      // set below a caught rustc: what the linker that it starts must know of it
	EnvCargo  = "CAIRN_CARGO"     // set below a caught cargo: whether it says for which machine it compiles
	EnvLaunch = "CAIRN_LAUNCH"    // set below a caught compiler cache: the number of its run
)

// Program is the name of cairn in the directory of EnvBuild.
const Program = "cairn"

// Library is the file's name.
const Library = "libcairn-catch.so"

//go:embed c/catch.c
var source []byte

// SourceName is the name of the library's source file.
const SourceName = "catch.c"

// Source returns the library's text.
func Source() []byte { return source }

// Flags are a compiler's arguments before the output and the source, LinkFlags those after them.
var (
	Flags     = []string{"-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-stack-protector", "-w"}
	LinkFlags = []string{"-ldl"}
)

package toolchain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

var builderName = lazyregexp.New(`^(?:g?make|ninja|cmake|ctest|meson|cargo|bazel|scons|waf|xmake|autoreconf|configure)$`)

// CheckDriver returns an error if the program that cairn cc is to run is not the driver of a
// compiler.
func CheckDriver(path string, args []string) error {
	if why := notDriver(driver.ToolName(path), args); why != "" {
		return verb.Usagef("cc: %s", why)
	}
	return nil
}

// notDriver returns why the program that cairn cc is to run is not the driver of a compiler, and
// what to run instead; "" for all others, and for a program that is only asked for its version.
func notDriver(name string, args []string) string {
	switch {
	case name == "go":
		return "go is not a compiler driver: to instrument Go, run cairn go build; C code of cgo gets probes by CC=\"cairn cc gcc\" go build"
	case builderName().MatchString(name):
		return fmt.Sprintf("%[1]s is not a compiler: to instrument what it builds, run cairn build -- %[1]s", name)
	case !namesFile(args):
		return ""
	case linkerName().MatchString(name) || machOLinkerName().MatchString(name):
		return name + " is a linker, and cairn cc runs compilers: link by the compiler (cairn cc gcc -o app app.o), or run the build by cairn build, which adds the runtime to links by linkers as well"
	case assemblerName().MatchString(name):
		return name + " is an assembler, and cairn cc runs compilers: assemble by the compiler (cairn cc gcc -c app.s)"
	}
	if o := otherCompiler(name); o == others["rustc"] {
		return fmt.Sprintf("%[1]s has other options than the drivers of gcc and clang: to instrument what it compiles, run cairn build -- %[1]s", name)
	} else if o != nil {
		return fmt.Sprintf("%s is not supported: %s; cairn build -- %s lists what gets none", name, o.why, name)
	}
	return ""
}

// namesFile reports whether there is an argument that is not an option.
func namesFile(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a != "" && !strings.HasPrefix(a, "-") })
}

package toolchain

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// Checks are the programs that build systems compile to examine the compiler and the system: configure scripts
// of autoconf, zlib, nginx, QEMU and FFmpeg are recognized by the names of their files, CMake, meson, waf and
// SCons by their directories. They get no probes. Their counts are useless, the files that they would write
// when they run are in the source tree, and build systems store what they report about libraries and
// directories.
var (
	checkFile = lazyregexp.New(`/(?:conftest[^/]*|ztest\d+[^/]*|objs/autotest[^/]*|qemu-conf[^/]*)$`)
	checkDir  = lazyregexp.New(`/(?:CMakeFiles/(?:CMakeTmp|CMakeScratch|[^/]+/CompilerId[^/]*)|meson-private|\.conf_check_[^/]*|\.sconf_temp|ffconf\.[^/]*)/`)
)

// isCheck reports whether a driver compiles or links a check in the working directory.
func isCheck(cmd *driver.Command) bool {
	dir, err := os.Getwd()
	if err != nil {
		return false
	}
	return isCheckIn(dir, cmd)
}

func isCheckIn(dir string, cmd *driver.Command) bool {
	if checkDir().MatchString(filepath.ToSlash(dir) + "/") {
		return true
	}
	for _, name := range append([]string{cmd.Output}, cmd.Sources...) {
		if name == "" || name == "-" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		name = filepath.ToSlash(name)
		if checkFile().MatchString(name) || checkDir().MatchString(name) {
			return true
		}
	}
	return false
}

// runCheck becomes the compiler of a check. It adds the runtime to a link, for objects and archives that
// already have probes, except if the check examines the output of -v: CMake and libtool store the paths that
// they find in it.
func runCheck(ctx context.Context, in *invocation, archive string) error {
	cmd, argv := in.cmd, in.argv
	if cmd.Compiles {
		if err := logEvent(buildEvent{Check: true}); err != nil {
			return err
		}
	}
	if cmd.Links && !slices.Contains(argv, "-v") {
		if cmd.Language {
			argv = append(argv, "-x", "none")
		}
		argv = append(argv, archive)
	}
	return in.compiler.become(ctx, argv, "")
}

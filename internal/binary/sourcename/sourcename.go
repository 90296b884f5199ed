// Package sourcename joins the names of source files in debug information, which may be of another system than this
// one: names of Windows have a drive letter, and slashes or back slashes.
package sourcename

import (
	"path"
	"strings"
)

// IsAbs reports whether a name is an absolute one, of any system.
func IsAbs(name string) bool { return path.IsAbs(name) || hasDrive(name) }

// hasDrive reports whether a name is an absolute one of Windows, such as C:\src\a.c or C:/src/a.c.
func hasDrive(name string) bool {
	return len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') && (name[0]|0x20) >= 'a' && (name[0]|0x20) <= 'z'
}

// Join joins a name with the directory that it is relative to, and that with the directory of the compiler. Back slashes
// become slashes if one of them has a drive letter; elsewhere they are characters as others.
func Join(top, dir, name string) string {
	if hasDrive(top) || hasDrive(dir) || hasDrive(name) {
		top, dir, name = slashed(top), slashed(dir), slashed(name)
	}
	switch {
	case IsAbs(name):
		return path.Clean(name)
	case IsAbs(dir):
		return path.Join(dir, name)
	}
	return path.Join(top, dir, name)
}

func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }

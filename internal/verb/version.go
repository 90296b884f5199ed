package verb

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// Newest is the release whose entry in CHANGELOG.md is the newest.
const Newest = "v0.1.0"

// release is the version of a release, set by the linker (-X); "" for other builds.
var release string

type versionJSON struct {
	Version  string `json:"cairn"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the sources differed from the revision
	Go       string `json:"go"`
}

// BuildVersion returns the version from the build information: a build from a module cache has a version, one
// from a checkout that of the newest release and a revision.
func BuildVersion(info *debug.BuildInfo, ok bool) versionJSON {
	v := versionJSON{Version: "unknown"}
	if !ok {
		return v
	}
	v.Version = cmp.Or(release, info.Main.Version, Newest)
	if v.Version == "(devel)" || strings.HasPrefix(v.Version, "v0.0.0-") { // of a checkout without tags
		v.Version = Newest
	}
	v.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// HomePage is the address of the project.
const HomePage = "https://github.com/cairnprof/cairn"

// Version returns the version of this program, as in cairn v1.2.3.
func Version() string { return BuildVersion(debug.ReadBuildInfo()).Version }

// Program is the name of this program in files that it writes: "cairn", with the version if it is a release or was built
// from a module cache.
func Program() string {
	v := release
	if info, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, info.Main.Version)
	}
	if strings.HasPrefix(v, "v") {
		return "cairn " + v
	}
	return "cairn"
}

// Write prints the version in words, on one line.
func (v versionJSON) Write(w io.Writer) error {
	words := []string{"cairn", v.Version}
	if v.Revision != "" {
		words = append(words, v.Revision)
	}
	if v.Modified {
		words = append(words, "modified")
	}
	if v.Go != "" {
		words = append(words, v.Go)
	}
	_, err := fmt.Fprintln(w, strings.Join(words, " "))
	return err
}

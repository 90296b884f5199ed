package toolchain

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// upToDate reports whether all that the build ran was cargo, which compiled nothing: what it made earlier has the flag of
// this configuration, and so its probes.
func (b *buildSummary) upToDate() bool {
	return b.Cargo && b.Files+b.Bitcode+b.Empty+b.Checks == 0 && len(b.Untouched) == 0
}

// compiled names what has probes.
func (b *buildSummary) compiled() string {
	crates := report.Plural(len(b.Crates), "crate") + " of Rust"
	switch {
	case len(b.Crates) == 0:
		return report.Plural(b.Files, "file")
	case b.Files == 0:
		return crates
	}
	return report.Plural(b.Files, "file") + " and " + crates
}

// printRust prints what of Rust has no probes because it is not the user's, and what cargo did.
func (b *buildSummary) printRust(s *verb.Streams) {
	if len(b.Host) > 0 {
		slices.Sort(b.Host)
		host := slices.Compact(b.Host)
		fmt.Fprintf(s.Err, "  without probes: %s of Rust, which the build itself runs (%s)\n", report.Plural(len(host), "crate"), firstNames(host))
	}
	if b.RustLibrary {
		fmt.Fprintln(s.Err, "  without probes: Rust's standard library, which rustc ships as machine code (cargo -Zbuild-std compiles it)")
	}
	switch {
	case b.Cargo && len(b.Crates) == 0 && b.upToDate():
		fmt.Fprintln(s.Err, "cairn: build: cargo found everything up to date: it was built earlier by cairn with the same flags")
	case b.CargoNew:
		fmt.Fprintln(s.Err, "cairn: build: cargo compiled all crates anew for this mode and keeps them beside the others; a program below target is that of the last build")
	}
}

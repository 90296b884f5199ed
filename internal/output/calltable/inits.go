package calltable

import (
	"fmt"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/ranking"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/report"
)

// Every Go program initializes its packages, in dozens of functions that take microseconds. Text leaves these out, with
// a line; other formats have them.

// inits matches the functions that initialize a package of Go.
var inits = lazyregexp.New(`^[^ ]*\.init(\.[0-9]+)?$`)

// isShortInit reports whether a function of a Go program initializes a package, and did so in less than a millisecond.
func isShortInit(t *logset.Set, fn calllog.FuncID, total uint64) bool {
	const most = 1e6
	return t.Clock.Hz != 0 && t.Clock.Nanoseconds(total) < most && inits().MatchString(t.Symbol(fn))
}

// initsText is a line about those that were left out, "" if there are none.
func initsText(o ranking.Omitted, t *logset.Set) string {
	if o.Count == 0 {
		return ""
	}
	return fmt.Sprintf("and %s of packages that took less than 1 ms each, %s in all (--json has them)",
		report.Plural(o.Count, "init function"), t.Duration(o.Time))
}

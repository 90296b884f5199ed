package calls

import (
	"fmt"

	"github.com/cairnprof/cairn/calllog"
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

// omittedInits are functions that were left out.
type omittedInits struct {
	count int
	time  uint64
}

func (o *omittedInits) add(time uint64) {
	o.count++
	o.time += time
}

// text is a line about them, "" if there are none.
func (o *omittedInits) text(t *logset.Set) string {
	if o.count == 0 {
		return ""
	}
	return fmt.Sprintf("and %s of packages that took less than 1 ms each, %s in all (--json has them)",
		report.Plural(o.count, "init function"), t.Duration(o.time))
}

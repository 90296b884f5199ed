package calls

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// selectFlags select calls of logs.
type selectFlags struct {
	from, to timeFlag
	lookback verb.SizeFlag
	within   []string
	longer   timeFlag
	depth    int
}

func (f *selectFlags) register(c *cobra.Command) {
	c.Flags().Var(&f.from, "from", "omit what is before this `time`, counted from the log's first event: 1.2s, 350ms")
	c.Flags().Var(&f.to, "to", "omit what is at or after this `time`")
	c.Flags().Var(&f.lookback, "lookback", "with --from: read only this `size` of each thread's log before it to find callers:\na log without an index opens at once, but calls that began earlier are missing")
	c.Flags().StringArrayVar(&f.within, "within", nil, "only calls of this `function` and their callees; repeatable")
	c.Flags().Var(&f.longer, "longer", "only calls that took this `time` or more, such as 5ms; the time of others is added to their callers")
	c.Flags().IntVar(&f.depth, "depth", 0, "only calls at most `n` deep, counted from --within if given; 0 for all")
	verb.Rules(c, verb.Needs("lookback", "from"))
	verb.Group(c, selectTitle, "from", "to", "lookback", "within", "longer", "depth")
}

// given reports whether anything is to be omitted.
func (f *selectFlags) given() bool {
	return f.from.given || f.to.given || f.longer.given || len(f.within) > 0 || f.depth != 0
}

// check rejects values that are invalid for all logs.
func (f *selectFlags) check(tails bool) error {
	switch {
	case f.depth < 0:
		return verb.Usagef("--depth %d: must be at least 1, or 0 for all", f.depth)
	case f.from.given && f.to.given && f.from.unit == f.to.unit && f.to.value <= f.from.value:
		return verb.Usagef("--to %s: must be after --from %s", f.to.text, f.from.text)
	case f.to.given && f.to.value == 0:
		return verb.Usagef("--to %s: no event is before that time", f.to.text)
	case tails && f.given():
		return verb.Usagef("--tail-calls=logical cannot be used with a part of a log, in which callers are not certain")
	}
	return nil
}

// apply returns a log with the selected part, read from places if there are any.
func (f *selectFlags) apply(log calllog.Log, funcs calllog.Funcs, places *keptPlaces, opt account.Options) (calllog.Log, error) {
	if !f.given() {
		return log, nil
	}
	info := log.Info()
	if stacksOf(log) != nil {
		return nil, fmt.Errorf("%s: --from, --to, --within, --longer and --depth need single calls, and the log has only sums", info.File)
	}
	want := calllog.Selection{Depth: f.depth, UpperBound: opt.UpperBound, DropOpen: opt.DropOpen, Workers: opt.Workers, Lookback: int64(f.lookback)}
	if places != nil {
		want.Places = places.Places
	}
	var err error
	ticks := func(flag string, v *timeFlag, base uint64) (n uint64) {
		if v.given && err == nil {
			n, err = v.ticks(flag, info)
			n = max(n+base, n)
		}
		return n
	}
	want.From = ticks("from", &f.from, info.Clock.Start)
	want.To = ticks("to", &f.to, info.Clock.Start)
	want.Longer = ticks("longer", &f.longer, 0)
	if err != nil {
		return nil, err
	}
	if len(f.within) > 0 {
		if want.Within, err = f.functions(funcs); err != nil {
			return nil, err
		}
	}
	return calllog.Select(log, want), nil
}

// functions returns a function that matches the functions of --within.
func (f *selectFlags) functions(funcs calllog.Funcs) (func(calllog.FuncID) bool, error) {
	full, short := &report.Names{}, &report.Names{Short: true}
	wanted := make(map[calllog.FuncID]bool)
	numbers := make(map[string]bool) // names of functions that have none
	for _, name := range f.within {
		found := strings.HasPrefix(name, "#")
		if found {
			numbers[name] = true
		}
		for id := range funcs {
			symbol := unsuffixed(funcs.Name(id))
			shown := full.Show(symbol)
			bare, _, _ := strings.Cut(shown, "(")
			if slices.Contains([]string{symbol, shown, bare, short.Show(symbol)}, name) {
				wanted[id], found = true, true
			}
		}
		if !found {
			hint := ""
			if len(funcs) == 0 {
				hint = " (name them by their program among the arguments)"
			}
			return nil, fmt.Errorf("--within %s: no function has this name%s", name, hint)
		}
	}
	return func(id calllog.FuncID) bool {
		return wanted[id] || len(numbers) > 0 && numbers[funcs.Name(id)]
	}, nil
}

// timeFlag is a time on the command line: a duration, or a number in the unit in which
// results have times.
type timeFlag struct {
	text  string
	given bool
	unit  bool   // it has one
	value uint64 // in nanoseconds, or in that unit
}

func (v *timeFlag) Set(text string) error {
	v.text, v.given = text, true
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		v.unit, v.value = false, n
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time such as 1.2s, 350ms, 20us, or a number of nanoseconds", text)
	}
	v.unit, v.value = true, uint64(d)
	return nil
}

func (*timeFlag) Type() string { return "time" }

func (v *timeFlag) String() string { return v.text }

// ticks returns how many ticks of a log's clock the time is.
func (v *timeFlag) ticks(flag string, info *calllog.Info) (uint64, error) {
	if v.unit && info.Clock.Hz == 0 {
		return 0, fmt.Errorf("--%s %s: the length of a tick in %s is unknown: give a number of ticks", flag, v.text, info.File)
	}
	return info.Clock.Ticks(v.value), nil
}

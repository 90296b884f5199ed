package logset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Part is which calls of logs are read.
type Part struct {
	From, To Time
	Lookback verb.SizeFlag // how much of each thread's log is read before From, to find callers; 0 for all
	Within   []string      // names of functions: only their calls, and what they call
	Longer   Time          // calls of less time are omitted
	Depth    int           // 0 for any
}

// given reports whether anything is to be omitted.
func (p *Part) given() bool {
	return p.From.given || p.To.given || p.Longer.given || len(p.Within) > 0 || p.Depth != 0
}

// check rejects values that are invalid for all logs.
func (p *Part) check(tails bool) error {
	switch {
	case p.Depth < 0:
		return verb.Usagef("--depth %d: must be at least 1, or 0 for all", p.Depth)
	case p.From.given && p.To.given && p.From.unit == p.To.unit && p.To.value <= p.From.value:
		return verb.Usagef("--to %s: must be after --from %s", p.To.text, p.From.text)
	case p.To.given && p.To.value == 0:
		return verb.Usagef("--to %s: no event is before that time", p.To.text)
	case tails && p.given():
		return verb.Usagef("--tail-calls=logical cannot be used with a part of a log, in which callers are not certain")
	}
	return nil
}

// apply returns a log with the selected part, read from places if there are any.
func (p *Part) apply(log calllog.Log, funcs calllog.Funcs, places *keptPlaces, opt account.Options) (calllog.Log, error) {
	if !p.given() {
		return log, nil
	}
	info := log.Info()
	if SumsOf(log) != nil {
		return nil, fmt.Errorf("%s: --from, --to, --within, --longer and --depth need single calls, and the log has only sums", info.File)
	}
	want := calllog.Selection{Depth: p.Depth, UpperBound: opt.UpperBound, DropOpen: opt.DropOpen, Workers: opt.Workers, Lookback: int64(p.Lookback)}
	if places != nil {
		want.Places = places.Places
	}
	var err error
	ticks := func(flag string, v *Time, base uint64) (n uint64) {
		if v.given && err == nil {
			n, err = v.ticks(flag, info)
			n = max(n+base, n)
		}
		return n
	}
	want.From = ticks("from", &p.From, info.Clock.Start)
	want.To = ticks("to", &p.To, info.Clock.Start)
	want.Longer = ticks("longer", &p.Longer, 0)
	if err != nil {
		return nil, err
	}
	if len(p.Within) > 0 {
		if want.Within, err = p.functions(funcs); err != nil {
			return nil, err
		}
	}
	return calllog.Select(log, want), nil
}

// functions returns a function that matches the functions of --within.
func (p *Part) functions(funcs calllog.Funcs) (func(calllog.FuncID) bool, error) {
	full, short := &report.Names{}, &report.Names{Short: true}
	wanted := make(map[calllog.FuncID]bool)
	numbers := make(map[string]bool) // names of functions that have none
	for _, name := range p.Within {
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

// Time is a time on the command line: a duration, or a number in the unit in which
// results have times.
type Time struct {
	text  string
	given bool
	unit  bool   // it has one
	value uint64 // in nanoseconds, or in that unit
}

func (v *Time) Set(text string) error {
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

func (*Time) Type() string { return "time" }

func (v *Time) String() string { return v.text }

// ticks returns how many ticks of a log's clock the time is.
func (v *Time) ticks(flag string, info *calllog.Info) (uint64, error) {
	if v.unit && info.Clock.Hz == 0 {
		return 0, fmt.Errorf("--%s %s: the length of a tick in %s is unknown: give a number of ticks", flag, v.text, info.File)
	}
	return info.Clock.Ticks(v.value), nil
}

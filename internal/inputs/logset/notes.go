package logset

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// maxDamage is how many damaged places of a log are named one by one.
const maxDamage = 5

// noteLog prints notes about a log that was opened.
func (t *Set) noteLog(info *calllog.Info) {
	NoteDamage(t.Streams, info.File, info.Damage, ofDump)
	for _, text := range info.Notes {
		if !t.alike.left(text) {
			verb.Note(t.Streams, "%s: %s", info.File, text)
		}
	}
	if c := info.Clock; c.Claimed != 0 || c.Hz == 0 {
		verb.Note(t.Streams, "%s", clockNote(info))
	}
}

// alikeNotes are notes about logs, of which those that differ only in numbers are shown for one log
// where there are many: a test of many packages writes a log for each.
type alikeNotes struct {
	many  bool
	shown map[string]bool // by text without digits
	count int             // not shown
}

// manyLogs is the number of logs beyond which a note is shown for one of them.
const manyLogs = 4

// left reports whether a note is left out, and counts it.
func (a *alikeNotes) left(text string) bool {
	if !a.many {
		return false
	}
	kind := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
	if !a.shown[kind] {
		a.shown[kind] = true
		return false
	}
	a.count++
	return true
}

func clockNote(info *calllog.Info) string {
	c := info.Clock
	if c.Hz == 0 {
		return info.File + ": the length of a tick is unknown: times are in ticks"
	}
	const mega = 1e6
	return fmt.Sprintf("%s: assuming ticks of %.1f MHz, estimated from the log's wall-clock marks; its header has %.1f MHz",
		info.File, float64(c.Hz)/mega, float64(c.Claimed)/mega)
}

// NoteDamage prints notes about the damaged places of a log. where says, behind a blank, what shows those that are not named.
func NoteDamage(s *verb.Streams, file string, list []*calllog.Damage, where string) {
	for i, d := range list {
		if i == maxDamage {
			verb.Note(s, "%s: %d more damaged regions were skipped%s", file, len(list)-i, where)
			break
		}
		verb.Note(s, "%v", d)
	}
}

// ofDump is where logs of calls show all damaged places.
const ofDump = " (cairn dump shows them)"

// NoteResult prints notes about calls that are not complete in a log.
func (t *Set) NoteResult(info *calllog.Info, r *account.Result) {
	NoteDamage(t.Streams, info.File, r.Damage, ofDump)
	st := r.Total()
	t.noteTails(info, &st)
	var odd []string
	add := func(n uint64, one, many string) {
		if n > 0 {
			odd = append(odd, report.Count(n)+" "+report.Either(n, one, many))
		}
	}
	add(st.Orphans, "exit without enter (omitted)", "exits without enter (omitted)")
	add(st.Deduced, "call without an exit (its time is a lower bound)", "calls without an exit (their times are lower bounds)")
	add(st.Open, "call still running at the end", "calls still running at the end")
	add(st.Gaps, "gap with missing events", "gaps with missing events")
	add(st.Clamped, "duration with the clock going back (counted as 0)", "durations with the clock going back (counted as 0)")
	add(st.TooDeep, "call too deep to follow", "calls too deep to follow")
	if len(odd) > 0 {
		verb.Note(t.Streams, "%s: %s", info.File, strings.Join(odd, ", "))
	}
	if st.Folded > 0 {
		verb.Note(t.Streams, "%s: %s of stacks that exceed --memory are added to their callers, %s in all; no stack lacks more than %s and %s",
			info.File, report.Plural(int(min(st.Folded, math.MaxInt)), "call"), t.Duration(st.FoldedSelf), t.Duration(st.MostFolded), report.Plural(int(min(st.MostFoldedCalls, math.MaxInt)), "call"))
	}
	if text := filterNote(info, &st); text != "" {
		verb.Note(t.Streams, "%s: %s", info.File, text)
	}
}

// filterNote guesses whether the runtime omitted short calls: XRay does so by default below 5
// microseconds. With few leaf calls no guess is made.
func filterNote(info *calllog.Info, st *account.Stats) string {
	const threshold, least = 5000, 50 // ns, leaf calls
	if info.Clock.Hz == 0 || st.Leaves < least || st.Shortest < threshold || st.Shortest > 2*threshold {
		return ""
	}
	return "no leaf call is shorter than 5 us: the program probably ran with func_duration_threshold_us=5, so counts are lower bounds"
}

// NoteNames explains how to get the names of functions without one, and which objects they are
// in.
func (t *Set) NoteNames(results []*account.Result) {
	nameless, all := t.nameless(results)
	mapped := make(map[uint8]bool)
	for id := range t.Funcs {
		mapped[id.Object()] = true
	}
	var objects, strange []uint8 // without a map, and with one that lacks functions
	count := 0
	for _, o := range slices.Sorted(maps.Keys(nameless)) {
		if mapped[o] {
			strange = append(strange, o)
			continue
		}
		objects = append(objects, o)
		count += nameless[o]
	}
	for _, o := range strange {
		verb.Note(t.Streams, "the map of object %d lacks %s of the log: it may be of another program or build", o, report.Plural(nameless[o], "function"))
	}
	if len(objects) == 0 {
		return
	}
	if t.Maps == 0 && slices.Equal(objects, []uint8{0}) {
		hint := "PROGRAM"
		if program := programOf(t.Logs[0].Info().File); program != "" {
			hint = program
		}
		verb.Note(t.Streams, "functions are shown by id; name them by %s among the arguments", hint)
		return
	}
	texts := make([]string, len(objects))
	for i, o := range objects {
		texts[i] = strconv.Itoa(int(o))
	}
	verb.Note(t.Streams, "%s of %s functions have no names, in %s %s: name them by PROGRAM (object 0) and N=FILE among the arguments",
		report.Count(count), report.Count(all), report.Either(uint64(len(objects)), "object", "objects"), strings.Join(texts, ", "))
}

// nameless counts the functions of each object that have no name, and all that were called.
func (t *Set) nameless(results []*account.Result) (nameless map[uint8]int, all int) {
	nameless = make(map[uint8]int)
	seen := make(map[calllog.FuncID]bool)
	for _, r := range results {
		for i := range r.Threads {
			for _, n := range r.Threads[i].Trie.Nodes() {
				if seen[n.Func] {
					continue
				}
				seen[n.Func] = true
				if _, ok := t.Funcs[n.Func]; !ok && n.Func != calltrie.Other {
					nameless[n.Func.Object()]++
				}
			}
		}
	}
	return nameless, len(seen)
}

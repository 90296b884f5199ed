// Package logset opens logs of calls that are read together: it finds the programs that wrote them, for the names of
// their functions, selects a part of the calls, and accounts for them.
package logset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/gotrace"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/binary/symbolize"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/disk"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Choice is which logs a command reads, which of their calls, and how these are counted.
type Choice struct {
	Maps    []string // programs and maps that name functions
	Threads []uint32 // ids; empty for all
	PIDs    []uint32 // of processes; empty for all
	Spike   Spike
	Part    Part
	// Logical places tail calls below the function that jumped.
	Logical bool
	Options account.Options
	// Sums is set for verbs that add up the time of threads: those that only show the time of others in another way are
	// left out, unless they are selected.
	Sums bool
	// Unlike says what a first input is not that cannot be read, for verbs that read more than logs; "" for the others.
	Unlike string
}

// defaultMemory is the default memory for stacks.
const defaultMemory = 256 << 20

// SetDefaults sets what commands without flags for it choose.
func (c *Choice) SetDefaults() { c.Options.Memory = defaultMemory }

// Set is the logs of one command and the names of their functions.
type Set struct {
	Logs []calllog.Log
	// Clock has the unit of all times in results. Its Start is that of the first log.
	Clock calllog.Clock
	Naming

	Streams *verb.Streams
	Files   []*logfile.File
	spools  []*os.File
	spike   Spike
	alike   alikeNotes
	places  []*keptPlaces
	tails   tailPlaces

	// Replay accounts for a log. It may be replaced, by account.RunRecursive.
	Replay func(context.Context, calllog.Log, account.Options) (*account.Result, error)
}

// New returns a set without logs, which are in the given files.
func New(s *verb.Streams, names *report.Names, files ...*logfile.File) *Set {
	return &Set{
		Streams: s, Files: files, Replay: accountLog,
		Naming: Naming{Names: names, Shown: make(map[calllog.FuncID]string), Unmarked: make(map[calllog.FuncID]calllog.FuncID)},
	}
}

// Open opens the logs that args name, files or patterns. The caller closes the
// set.
func (c *Choice) Open(s *verb.Streams, args []string, names *report.Names) (_ *Set, err error) {
	args, named := SplitNames(args)
	if len(args) == 0 && len(named) > 0 {
		return nil, verb.Usagef("no log given: %s is a program, which names the functions of logs", named[0])
	}
	c.Maps = append(c.Maps, named...)
	t := New(s, names)
	t.Maps, t.spike, t.tails.logical = len(c.Maps), c.Spike, c.Logical
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	if err := c.Part.check(c.Logical); err != nil {
		return nil, err
	}
	paths, err := Expand(args, kind.Kind.IsCalls)
	if err != nil {
		return nil, err
	}
	t.alike = alikeNotes{many: len(paths) > manyLogs, shown: make(map[string]bool)}
	for i, path := range paths {
		log, err := t.openLog(path, c.unlike(i))
		if err != nil {
			return nil, err
		}
		var places *keptPlaces
		if c.Part.From.given && !c.Spike.Given {
			places = placesOf(path, log)
		}
		t.places = append(t.places, places)
		t.Logs = append(t.Logs, c.only(log))
	}
	if n := t.alike.count; n > 0 {
		verb.Note(s, "%s on other logs that differ from these only in numbers: read one log to see its own", report.Plural(n, "more note"))
	}
	if t.Clock, err = CommonClock(t.Logs); err != nil {
		return nil, err
	}
	if len(c.Threads)+len(c.PIDs) > 0 && !slices.ContainsFunc(t.Logs, func(l calllog.Log) bool { return len(l.Threads()) > 0 }) {
		return nil, errors.New("no log has such a thread (cairn dump --summary lists threads)")
	}
	if t.Funcs, err = t.LoadFuncs(c.Maps); err != nil {
		return nil, err
	}
	for i := range t.Logs {
		if t.Logs[i], err = c.Part.apply(t.Logs[i], t.Funcs, t.places[i], c.Options); err != nil {
			return nil, err
		}
		if n := calllog.Blind(t.Logs[i]); n > 0 {
			verb.Note(s, "%s: of %s only %s before --from was read: calls that began earlier are missing at the root of stacks",
				t.Logs[i].Info().File, report.Plural(n, "thread"), c.Part.Lookback.String())
		}
	}
	return t, nil
}

// LoadMaps loads the arguments of --map.
func LoadMaps(s *verb.Streams, texts []string) (*symbolize.Program, error) {
	texts, err := withPrograms(s, texts)
	if err != nil {
		return nil, err
	}
	specs := make([]symbolize.Spec, len(texts))
	for i, text := range texts {
		if specs[i], err = symbolize.ParseSpec(text); err != nil {
			return nil, verb.Usagef("%s: %w", text, err)
		}
	}
	p, err := symbolize.LoadAll(specs)
	if err != nil {
		return nil, err
	}
	for _, text := range p.Notes {
		verb.Note(s, "%s", text)
	}
	return p, nil
}

// unlike says what input i is not, if it cannot be read.
func (c *Choice) unlike(i int) string {
	switch {
	case c.Unlike == "":
		return "not a log of calls"
	case i == 0:
		return c.Unlike
	}
	return "not a log of calls, as the inputs before it"
}

func (t *Set) openLog(path, unlike string) (calllog.Log, error) {
	file, err := OpenFile(t.Streams, path, unlike, kind.Kind.IsCalls)
	if err != nil {
		return nil, err
	}
	t.Files = append(t.Files, file)
	var log calllog.Log
	k := kind.Of(file.Head(logfile.HeadSize))
	if t.spike.Given && k != kind.WindowLog {
		return nil, verb.Usagef("--spike: %s is not a log of spikes with the calls around them", file.Name)
	}
	switch k {
	case kind.WindowLog:
		log, err = t.openWindows(file)
	case kind.GoTrace:
		log, err = t.openGo(file)
	case kind.TraceLog:
		log, err = t.openEvents(path, file)
	case kind.StacksLog:
		log, err = tracelog.OpenStacks(file, file.Size, file.Name, &t.Objects)
	case kind.XRayProfile:
		log, err = xray.OpenProfile(file, file.Size, file.Name)
	default:
		log, err = openXRay(path, file)
	}
	if err != nil {
		return nil, err
	}
	t.noteLog(log.Info())
	return log, nil
}

// only keeps the selected threads.
func (c *Choice) only(log calllog.Log) calllog.Log {
	if len(c.Threads)+len(c.PIDs) == 0 {
		if c.Sums && slices.ContainsFunc(log.Threads(), func(t calllog.Thread) bool { return t.View }) {
			return calllog.Only(log, func(t calllog.Thread) bool { return !t.View })
		}
		return log
	}
	return calllog.Only(log, func(t calllog.Thread) bool { return c.Wants(t.PID, t.TID) })
}

// Wants reports whether a thread is selected.
func (c *Choice) Wants(pid, tid uint32) bool {
	return (len(c.Threads) == 0 || slices.Contains(c.Threads, tid)) &&
		(len(c.PIDs) == 0 || slices.Contains(c.PIDs, pid))
}

// CommonClock returns the clock of results of all logs together.
func CommonClock(logs []calllog.Log) (calllog.Clock, error) {
	if len(logs) == 0 {
		return calllog.Clock{}, nil
	}
	first := logs[0].Info()
	for _, log := range logs[1:] {
		if info := log.Info(); (info.Clock.Hz == 0) != (first.Clock.Hz == 0) {
			known, unknown := first, info
			if first.Clock.Hz == 0 {
				known, unknown = info, first
			}
			return calllog.Clock{}, fmt.Errorf("the length of a tick is unknown in %s and known in %s: read these logs separately", unknown.File, known.File)
		}
	}
	clock := first.Clock
	for _, log := range logs {
		clock.Step = max(clock.Step, log.Info().Clock.Step)
	}
	return clock, nil
}

// Close closes the logs.
func (t *Set) Close() {
	for _, p := range t.places {
		p.keep()
	}
	for _, f := range t.Files {
		f.Close()
	}
	for _, f := range t.spools {
		f.Close()
	}
}

// Duration is a time for people.
func (t *Set) Duration(n uint64) string { return report.Duration(n, t.Clock.Unit()) }

// Sum formats the time of many calls.
func (t *Set) Sum(n uint64) string { return report.CoarseSum(n, t.Clock.Step, t.Clock.Unit()) }

// Title is the names of the logs, without their directories.
func (t *Set) Title() string {
	var names []string
	for _, log := range t.Logs {
		names = append(names, filepath.Base(log.Info().File))
	}
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more logs", names[0], len(names)-1)
	}
	return strings.Join(names, ", ")
}

// programOf guesses the program that wrote a log from the log's name, which XRay derives from
// it: xray-log.app.Ab3xYz. It returns "" unless there is a file of that name in the working
// directory or beside the log.
func programOf(log string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(log), ".gz"), ".zst")
	parts := strings.Split(base, ".")
	if len(parts) < 3 {
		return ""
	}
	program := strings.Join(parts[1:len(parts)-1], ".")
	for _, path := range []string{program, filepath.Join(filepath.Dir(log), program)} {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// openGo opens an execution trace of Go. Its events by goroutine are kept in a temporary file
// without a name.
func (t *Set) openGo(file *logfile.File) (calllog.Log, error) {
	spool, err := os.CreateTemp("", "cairn-gotrace-")
	if err != nil {
		return nil, err
	}
	t.spools = append(t.spools, spool)
	if err := os.Remove(spool.Name()); err != nil {
		return nil, err
	}
	return gotrace.Open(file, file.Size, file.Name, &t.goNames, spool)
}

// emptyLeast is how many empty bytes of a file are worth a note.
const emptyLeast = 1 << 20

// openEvents opens a log of mode trace. Files of older runtimes have the size of the ring from the start, most of it a
// hole. Many tools fill holes when they copy a file: a note says how to undo that.
func (t *Set) openEvents(path string, file *logfile.File) (calllog.Log, error) {
	log, err := tracelog.OpenEvents(file, file.Size, file.Name, &t.Objects)
	if err != nil {
		return nil, err
	}
	if log.Empty >= emptyLeast && onDisk(path) >= file.Size {
		verb.Note(t.Streams, "%s: %d of its %d MB are empty and take space, as it was copied without its holes: fallocate --dig-holes removes them; copy logs with cp --sparse=always or tar -S, or compress them",
			file.Name, log.Empty>>20, file.Size>>20)
	}
	return log, nil
}

// onDisk returns how many bytes a file takes on disk, 0 if that is not known.
func onDisk(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return disk.Taken(st)
}

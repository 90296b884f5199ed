// Package calls has the commands that read logs of calls: as stacks, tables, graphs,
// databases and the formats of other viewers.
package calls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/gotrace"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/binary/symbolize"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// LogFlags select the logs that a verb reads, the names of functions, and how calls without an
// end are counted.
type LogFlags struct {
	Maps     []string
	threads  idList
	pids     idList
	workers  int
	dropOpen bool
	upper    bool
	tails    tailChoice
	Spike    SpikeChoice
	selected selectFlags
	memory   verb.SizeFlag
	// Sums is set for verbs that add up the time of threads: those that only show the time of others in another way are
	// left out, unless they are selected.
	Sums bool
	// Unlike says what a first input is not that cannot be read, for verbs that read more than logs; "" for the others.
	Unlike string
}

// registerLogs adds the flags of every verb that reads logs.
func (f *LogFlags) registerLogs(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.Maps, "map", "m", nil,
		"name functions of XRay by what is no program among the arguments: a directory with it, N=`FILE` for shared object N,\na YAML map, or a list of lines \"N FILE\"; repeatable")
	verb.Hide(c, "map")
	c.Flags().Var(&f.threads, "thread", "only threads with these `ids`")
	c.Flags().Var(&f.pids, "process", "only processes with these `ids`")
	c.Flags().Var(&f.Spike, "spike", "only the calls around spike `n` of a log of spikes, not around all spikes;\n0 for the last calls of each thread")
	verb.Group(c, selectTitle, "thread", "process", "spike")
}

// Register adds the flags of verbs that account time to calls.
func (f *LogFlags) Register(c *cobra.Command) {
	f.registerLogs(c)
	f.selected.register(c)
	c.Flags().IntVarP(&f.workers, "jobs", "j", 0, "use `n` cores; 0 for all")
	c.Flags().BoolVar(&f.dropOpen, "drop-open", false, "omit calls that were still running when the log ended")
	c.Flags().BoolVar(&f.upper, "upper-bound", false, "end calls without an exit when their caller ends, not at the last event seen in them")
	f.SetDefaults()
	c.Flags().Var(&f.memory, "memory", "memory for stacks, a `size` such as 64MB or 2GB; beyond it the stacks with the least time are added to their callers")
	c.Flags().Var(&f.tails, "tail-calls", "where to show tail calls: as-recorded, below the caller of the function that jumped, or logical,\nbelow that function where its code makes this certain")
	verb.Values(c, "tail-calls", "as-recorded", "logical")
	verb.Group(c, accountingTitle, "jobs", "drop-open", "upper-bound", "memory", "tail-calls")
	verb.Seldom(c, "lookback", "jobs", "drop-open", "upper-bound", "memory", "tail-calls")
}

// Titles of flags in help.
const (
	selectTitle     = "Select calls"
	accountingTitle = "How time is added up"
)

// defaultMemory is the default memory for stacks.
const defaultMemory = 256 << 20

// idList is the value of a flag: numbers with commas between, added up where the
// flag is repeated.
type idList []uint32

func (l *idList) Set(text string) error {
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a number", word)
		}
		*l = append(*l, uint32(n))
	}
	return nil
}

func (*idList) Type() string { return "ids" }

func (*idList) String() string { return "" }

// SetDefaults sets the defaults of Register, for commands without these flags.
func (f *LogFlags) SetDefaults() { f.memory = defaultMemory }

// Options are how to account.
func (f *LogFlags) Options() account.Options {
	return account.Options{Workers: f.workers, DropOpen: f.dropOpen, UpperBound: f.upper, Memory: int64(f.memory)}
}

// LogSet is the logs of one command and the names of their functions.
type LogSet struct {
	Logs  []calllog.Log
	Funcs calllog.Funcs
	// Clock has the unit of all times in results. Its Start is that of the first log.
	Clock calllog.Clock

	Streams *verb.Streams
	Names   *report.Names
	Files   []*logfile.File
	Shown   map[calllog.FuncID]string
	Maps    int // number of maps that were given
	spike   SpikeChoice
	Objects tracelog.Objects
	goNames gotrace.Names
	spools  []*os.File
	alike   alikeNotes
	places  []*keptPlaces
	native  bool // it has waits of native programs: not all are known

	replay func(context.Context, calllog.Log, account.Options) (*account.Result, error)

	logical  bool // place tail calls below the function that jumped
	programs []codeFile
	tails    *account.TailCalls // nil until they are needed
	marks    map[calllog.FuncID]calllog.FuncID
	Unmarked map[calllog.FuncID]calllog.FuncID
}

// otherStacks is the name of calltrie.Other.
const otherStacks = "(other stacks)"

// Open opens the logs that args name, files or patterns. The caller closes the
// set.
func (f *LogFlags) Open(s *verb.Streams, args []string, names *report.Names) (_ *LogSet, err error) {
	args, named := SplitNames(args)
	if len(args) == 0 && len(named) > 0 {
		return nil, verb.Usagef("no log given: %s is a program, which names the functions of logs", named[0])
	}
	f.Maps = append(f.Maps, named...)
	t := &LogSet{
		replay: accountLog, Streams: s, Names: names, Shown: make(map[calllog.FuncID]string), Maps: len(f.Maps), spike: f.Spike,
		logical: bool(f.tails), marks: make(map[calllog.FuncID]calllog.FuncID), Unmarked: make(map[calllog.FuncID]calllog.FuncID),
	}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	if err := f.selected.check(bool(f.tails)); err != nil {
		return nil, err
	}
	paths, err := expandLogs(args, kind.Kind.IsCalls)
	if err != nil {
		return nil, err
	}
	t.alike = alikeNotes{many: len(paths) > manyLogs, shown: make(map[string]bool)}
	for i, path := range paths {
		log, err := t.openLog(path, f.unlike(i))
		if err != nil {
			return nil, err
		}
		var places *keptPlaces
		if f.selected.from.given && !f.Spike.Given {
			places = placesOf(path, log)
		}
		t.places = append(t.places, places)
		t.Logs = append(t.Logs, f.only(log))
	}
	if n := t.alike.count; n > 0 {
		verb.Note(s, "%s on other logs that differ from these only in numbers: read one log to see its own", report.Plural(n, "more note"))
	}
	if t.Clock, err = CommonClock(t.Logs); err != nil {
		return nil, err
	}
	if len(f.threads)+len(f.pids) > 0 && !slices.ContainsFunc(t.Logs, func(l calllog.Log) bool { return len(l.Threads()) > 0 }) {
		return nil, errors.New("no log has such a thread (cairn dump --summary lists threads)")
	}
	if t.Funcs, err = t.LoadFuncs(f.Maps); err != nil {
		return nil, err
	}
	for i := range t.Logs {
		if t.Logs[i], err = f.selected.apply(t.Logs[i], t.Funcs, t.places[i], f.Options()); err != nil {
			return nil, err
		}
		if n := calllog.Blind(t.Logs[i]); n > 0 {
			verb.Note(s, "%s: of %s only %s before --from was read: calls that began earlier are missing at the root of stacks",
				t.Logs[i].Info().File, report.Plural(n, "thread"), f.selected.lookback.String())
		}
	}
	return t, nil
}

// loadMaps loads the arguments of --map.
func loadMaps(s *verb.Streams, texts []string) (*symbolize.Program, error) {
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
func (f *LogFlags) unlike(i int) string {
	switch {
	case f.Unlike == "":
		return "not a log of calls"
	case i == 0:
		return f.Unlike
	}
	return "not a log of calls, as the inputs before it"
}

func (t *LogSet) openLog(path, unlike string) (calllog.Log, error) {
	file, err := OpenLogFile(t.Streams, path, unlike, kind.Kind.IsCalls)
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
func (f *LogFlags) only(log calllog.Log) calllog.Log {
	if len(f.threads)+len(f.pids) == 0 {
		if f.Sums && slices.ContainsFunc(log.Threads(), func(t calllog.Thread) bool { return t.View }) {
			return calllog.Only(log, func(t calllog.Thread) bool { return !t.View })
		}
		return log
	}
	return calllog.Only(log, func(t calllog.Thread) bool { return f.wants(t.PID, t.TID) })
}

// wants reports whether a thread is selected.
func (f *LogFlags) wants(pid, tid uint32) bool {
	return (len(f.threads) == 0 || slices.Contains(f.threads, tid)) &&
		(len(f.pids) == 0 || slices.Contains(f.pids, pid))
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
func (t *LogSet) Close() {
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

// Symbol returns the symbol of a function, or a substitute.
func (t *LogSet) Symbol(id calllog.FuncID) string {
	switch id {
	case calltrie.Other:
		return otherStacks
	case export.LeftOut:
		return export.LeftOutName
	}
	return t.Funcs.Name(id)
}

// Name returns the name to display for a function.
func (t *LogSet) Name(id calllog.FuncID) string {
	text, ok := t.Shown[id]
	if !ok {
		text = t.Names.Show(t.Symbol(id))
		t.Shown[id] = text
	}
	return text
}

// Duration is a time for people.
func (t *LogSet) Duration(n uint64) string { return report.Duration(n, t.Clock.Unit()) }

// Sum formats the time of many calls.
func (t *LogSet) Sum(n uint64) string { return report.CoarseSum(n, t.Clock.Step, t.Clock.Unit()) }

// Place is where a function is declared, file:line, "" if not known.
func (t *LogSet) Place(id calllog.FuncID) string {
	fn := t.Funcs[id]
	return verb.SourceText(fn.File, fn.Line)
}

// WaitOf returns what the caller of a function waits for, "" if it is a function of the program.
func (t *LogSet) WaitOf(id calllog.FuncID) string { return t.Funcs[id].Wait }

func (t *LogSet) isMain(id calllog.FuncID) bool {
	return slices.Contains([]string{"main.main", "main"}, t.Funcs[id].Name)
}

// Account replays all logs, with progress, and prints notes about irregularities.
func (t *LogSet) Account(ctx context.Context, opt account.Options) ([]*account.Result, error) {
	results, err := t.run(ctx, opt)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		for j := range r.Threads {
			waiting.MarkIdle(r.Threads[j].Trie, t.WaitOf, t.isMain)
		}
		t.noteResult(t.Logs[i].Info(), r)
	}
	t.noteNames(results)
	return results, nil
}

func (t *LogSet) run(ctx context.Context, opt account.Options) ([]*account.Result, error) {
	progress, stop := t.progress()
	defer stop()
	opt, err := t.withTails(ctx, opt)
	if err != nil {
		return nil, err
	}
	before := int64(0) // bytes of the logs that are done
	opt.Progress = func(n int64) { progress(before + n) }
	var results []*account.Result
	all, memory := int64(0), opt.Memory
	for _, log := range t.Logs {
		all += bytesOf(log)
	}
	for _, log := range t.Logs {
		if all > 0 {
			opt.Memory = max(1, int64(float64(memory)*float64(bytesOf(log))/float64(all)))
		}
		r, err := t.replay(ctx, log, opt)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		before += bytesOf(log)
	}
	return results, nil
}

// Merged returns one trie of all threads of all logs. It may be that of a thread itself.
func Merged(results []*account.Result) *calltrie.Trie {
	if len(results) == 1 && len(results[0].Threads) == 1 && len(results[0].Threads[0].Starters) == 0 {
		return results[0].Threads[0].Trie
	}
	trie := calltrie.New()
	for _, r := range results {
		for i := range r.Threads {
			r.Threads[i].MergeInto(trie)
		}
	}
	return trie
}

// threadTrie is the trie of one thread.
type threadTrie struct {
	Log   *calllog.Info
	Label string // "thread 12", with its process or log where there are several
	*account.Thread
}

// perThread returns the threads of all logs.
func (t *LogSet) perThread(results []*account.Result) []threadTrie {
	pids := make(map[uint32]bool)
	for _, r := range results {
		for i := range r.Threads {
			pids[r.Threads[i].PID] = true
		}
	}
	var list []threadTrie
	for i, r := range results {
		info := t.Logs[i].Info()
		for j := range r.Threads {
			th := &r.Threads[j]
			label := threadLabel(th.Thread)
			if len(pids) > 1 {
				label += " of process " + strconv.FormatUint(uint64(th.PID), 10)
			}
			if len(results) > 1 {
				label += " in " + info.File
			}
			list = append(list, threadTrie{Log: info, Label: label, Thread: th})
		}
	}
	return list
}

// stackGroup is stacks that are shown together.
type stackGroup struct {
	Label  string      // "" for the stacks of all threads
	thread *threadTrie // nil for all
	Trie   *calltrie.Trie
}

// groups returns the stacks of all threads, or of each.
func (t *LogSet) groups(results []*account.Result, perThread bool) []stackGroup {
	if !perThread {
		return []stackGroup{{Trie: Merged(results)}}
	}
	var list []stackGroup
	for _, th := range t.perThread(results) {
		trie := th.Trie
		if len(th.Starters) > 0 {
			trie = calltrie.New()
			th.MergeInto(trie)
		}
		list = append(list, stackGroup{th.Label, &th, trie})
	}
	return list
}

// Title is the names of the logs, without their directories.
func (t *LogSet) Title() string {
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

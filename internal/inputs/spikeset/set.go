// Package spikeset opens logs of spikes that are read together: it finds the programs that wrote them, for the names of
// their functions, and reads the spikes of the selected threads.
package spikeset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// Set is the logs of one command.
type Set struct {
	Logs    []*tracelog.Log
	Spikes  *spikes.Set
	Names   *Names
	Writer  *spikes.Writer
	Streams *verb.Streams
	Threads []string // names or ids of threads that are selected; empty for all

	files   []*logfile.File
	modules [][]int // numbers of the modules of each log
}

// Close closes all files.
func (t *Set) Close() {
	for _, f := range t.files {
		f.Close()
	}
	if t.Names != nil {
		t.Names.Close()
	}
}

// Paths are the logs that arguments name: files, patterns, directories.
func Paths(args []string) ([]string, error) {
	paths, err := logfile.Expand(args)
	if err != nil {
		return nil, err
	}
	var logs []string
	for _, path := range paths {
		if st, err := os.Stat(path); err != nil || !st.IsDir() {
			logs = append(logs, path)
			continue
		}
		found := len(logs)
		err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			name := strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".zst")
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, wire.Suffix) {
				logs = append(logs, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(logs) == found {
			return nil, fmt.Errorf("%s: contains no log of spikes (*%s)", path, wire.Suffix)
		}
	}
	return logs, nil
}

// Open opens the logs that args name.
func (t *Set) Open(args []string) error {
	paths, err := Paths(args)
	if err != nil {
		return err
	}
	var about []spikes.Log
	for _, path := range paths {
		file, err := logset.OpenFile(t.Streams, path, "not a log of spikes", kind.Kind.IsSpikes)
		if err != nil {
			return err
		}
		t.files = append(t.files, file)
		log, err := tracelog.Open(file, file.Size, file.Name)
		if err != nil {
			return err
		}
		t.Logs = append(t.Logs, log)
		windows, err := windowsOf(file)
		if err != nil {
			return err
		}
		about = append(about, t.About(log, windows))
	}
	t.Spikes = spikes.New(about, t.Address)
	return nil
}

// About records the data of a log other than its spikes.
func (t *Set) About(log *tracelog.Log, windows map[uint64]spikes.Window) spikes.Log {
	logset.NoteDamage(t.Streams, log.Name, log.Damage, "")
	threads := make(map[uint32]string)
	for _, th := range log.Threads {
		threads[th.TID] = th.Name
	}
	t.modules = append(t.modules, nil)
	t.AddModules(len(t.modules)-1, log)
	return spikes.Log{
		Name: log.Name, Header: log.Header, Threads: threads, Trailer: log.Trailer, Stalls: log.Stalls, Freezes: log.Freezes, Settings: log.Settings, Frames: log.Frames, Lost: log.Damaged, Windows: windows,
	}
}

// AddModules adds the modules that a log has by now.
func (t *Set) AddModules(number int, log *tracelog.Log) {
	for i := len(t.modules[number]); i < len(log.Modules); i++ {
		t.modules[number] = append(t.modules[number], t.Names.Module(&log.Modules[i], log.Name))
	}
}

// Address is a spikes.Addresser.
func (t *Set) Address(log int, pc, time uint64) spikes.Address {
	l := t.Logs[log]
	i := l.ModuleIndex(pc, time)
	if i < 0 {
		return spikes.Address{Module: -1, Offset: pc}
	}
	return spikes.Address{Module: t.modules[log][i], Offset: pc - l.Modules[i].Bias}
}

// Wants reports whether a thread is selected.
func (t *Set) Wants(log int, tid uint32) bool {
	if len(t.Threads) == 0 {
		return true
	}
	id, name := strconv.FormatUint(uint64(tid), 10), t.Spikes.Logs[log].Threads[tid]
	for _, want := range t.Threads {
		if want == id || want == name {
			return true
		}
	}
	return false
}

// Each calls do for every selected episode of every log.
func (t *Set) Each(do func(log int, e *tracelog.Episode) error) error {
	for i, log := range t.Logs {
		for e, err := range log.Episodes() {
			var d *calllog.Damage
			switch {
			case errors.As(err, &d): // it has been reported
			case err != nil:
				return err
			case t.Wants(i, e.TID):
				if err := do(i, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Fill reads all spikes, and how often each was seen.
func (t *Set) Fill() error {
	err := t.Each(func(log int, e *tracelog.Episode) error {
		t.Spikes.Add(log, e)
		return nil
	})
	if err != nil {
		return err
	}
	if len(t.Threads) > 0 {
		if len(t.Spikes.Groups) == 0 {
			verb.Note(t.Streams, "no spike in such a thread")
		}
	}
	for i, log := range t.Logs {
		t.addOpen(i, log)
		if err := t.callers(i, log); err != nil {
			return err
		}
		if len(t.Threads) > 0 {
			continue // counts are of all threads
		}
		for n, err := range log.Seen() {
			if err != nil {
				return err
			}
			t.Spikes.Count(i, n)
		}
	}
	return t.Spikes.Settle(t.Names.Name, t.Each)
}

// addOpen adds the calls of selected threads that have not ended, and those that did not return.
func (t *Set) addOpen(i int, log *tracelog.Log) {
	for _, e := range log.Open {
		if t.Wants(i, e.TID) {
			t.Spikes.AddOpen(i, e)
		}
	}
	for _, e := range log.Left {
		if t.Wants(i, e.TID) {
			t.Spikes.Add(i, e)
		}
	}
}

// callers reads the ends of selected callers.
func (t *Set) callers(i int, log *tracelog.Log) error {
	for c, err := range log.Callers() {
		if err != nil {
			return err
		}
		if t.Wants(i, c.TID) {
			t.Spikes.AddCaller(i, c)
		}
	}
	return nil
}

// windowsOf finds which spikes of a log have a window, by their numbers.
func windowsOf(file *logfile.File) (map[uint64]spikes.Window, error) {
	if kind.Of(file.Head(logfile.HeadSize)) != kind.WindowLog {
		return nil, nil
	}
	w, err := tracelog.OpenWindows(file, file.Size, file.Name, nil, tracelog.AllWindows)
	if err != nil {
		return nil, err
	}
	list := make(map[uint64]spikes.Window)
	for i := range w.Windows {
		win := &w.Windows[i]
		all, ok := list[win.Episode]
		if !ok {
			all = spikes.Window{From: win.From, To: win.To}
		}
		list[win.Episode] = spikes.Window{Calls: all.Calls + win.Calls, From: min(all.From, win.From), To: max(all.To, win.To)}
	}
	return list, nil
}

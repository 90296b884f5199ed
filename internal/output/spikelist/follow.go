package spikelist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
)

// spikeFollower prints spikes of running programs as they occur.
type spikeFollower struct {
	flags *Choice
	t     *spikeset.Set
	args  []string
	logs  map[string]*followedLog
	first bool // reading for the first time: spikes that are already in the logs are not shown
	began bool // a program was seen to run
	shown int  // in this second
	left  int  // not shown in this second
	since time.Time
}

// followedLog is a log that is written to.
type followedLog struct {
	number int // in the set
	log    *tracelog.Log
	file   *os.File
	reader *tracelog.Follower
	quiet  time.Time // time of the last new data
	last   tracelog.Trailer
	ended  bool
}

const (
	followPause = 250 * time.Millisecond
	// followRate is how many spikes are shown in a second: more cannot be read. JSON
	// has all.
	followRate = 20
)

// follow shows new spikes until all processes have ended.
func (f *Choice) follow(ctx context.Context, t *spikeset.Set, style report.Style, args []string) (err error) {
	paths, err := logfile.Expand(args)
	if err != nil {
		return err
	}
	w := &spikeFollower{flags: f, t: t, args: paths, logs: make(map[string]*followedLog), first: true}
	t.Spikes = spikes.New(nil, t.Address)
	t.Writer = &spikes.Writer{Set: t.Spikes, Name: t.Names.Name, Style: style, Short: f.NoInlined}
	defer func() {
		w.rest()
		for _, l := range w.logs {
			l.close()
		}
		err = errors.Join(err, f.CloseObjects(t.Streams))
	}()
	for {
		if err := w.read(); err != nil {
			return err
		}
		running := 0
		for _, l := range w.logs {
			if !l.ended {
				running++
			}
		}
		w.began = w.began || running > 0
		switch {
		case running == 0 && (w.began || w.onlyFiles()):
			return nil
		case running == 0 && w.first:
			verb.Note(t.Streams, "no running program writes a log here; waiting for one")
		}
		w.first = false
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

// onlyFiles reports whether no directory is followed, in which programs may begin logs.
func (w *spikeFollower) onlyFiles() bool {
	for _, arg := range w.args {
		if st, err := os.Stat(arg); err != nil || st.IsDir() {
			return false
		}
	}
	return true
}

// find opens logs that are new.
func (w *spikeFollower) find() error {
	for _, arg := range w.args {
		st, err := os.Stat(arg)
		if errors.Is(err, fs.ErrNotExist) && !w.first {
			continue
		}
		if err != nil {
			return err
		}
		if !st.IsDir() {
			if err := w.open(arg); err != nil {
				return err
			}
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && strings.HasSuffix(e.Name(), wire.Suffix) {
				if err := w.open(filepath.Join(arg, e.Name())); err != nil {
					verb.Note(w.t.Streams, "%v", err)
				}
			}
		}
	}
	return nil
}

// open begins to follow a log, unless it is followed.
func (w *spikeFollower) open(path string) error {
	if w.logs[path] != nil {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	st, err := file.Stat()
	if err != nil || st.Size() < 2*wire.ChunkSize && !w.first {
		file.Close() // it is being made
		return err
	}
	w.logs[path] = &followedLog{number: -1, file: file, ended: true} // should it not be one
	log, err := tracelog.Open(file, st.Size(), path)
	if err != nil {
		file.Close()
		return err
	}
	l := &followedLog{log: log, file: file, number: len(w.t.Spikes.Logs), quiet: time.Now()}
	if l.reader, err = log.Follow(w.first); err != nil {
		file.Close()
		return err
	}
	w.t.Logs = append(w.t.Logs, log)
	w.t.Spikes.Logs = append(w.t.Spikes.Logs, w.t.About(log, nil))
	w.logs[path] = l
	w.began = w.began || !w.first
	return nil
}

func (l *followedLog) close() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// read shows the new spikes of all logs.
func (w *spikeFollower) read() error {
	if err := w.find(); err != nil {
		return err
	}
	if now := time.Now(); now.Sub(w.since) >= time.Second {
		w.rest()
		w.since, w.shown = now, 0
	}
	for _, l := range w.logs {
		if l.ended {
			continue
		}
		if err := w.readLog(l); err != nil {
			return err
		}
	}
	return nil
}

// rest prints how many spikes were not shown.
func (w *spikeFollower) rest() {
	if w.left > 0 {
		fmt.Fprintf(w.t.Streams.Out, "%s not shown\n\n", report.Plural(w.left, "more spike"))
	}
	w.left = 0
}

func (w *spikeFollower) readLog(l *followedLog) error {
	ended := l.over()
	readings := 1
	if ended {
		readings = 4 // readings after which a spike is shown without waiting for more
	}
	for range readings {
		st, err := l.file.Stat()
		if err != nil {
			return err
		}
		list, err := l.reader.Read(st.Size())
		if err != nil {
			return err
		}
		w.refresh(l)
		if err := w.show(l, list); err != nil {
			return err
		}
	}
	if ended {
		l.ended = true
		l.close()
	}
	return nil
}

// over reports whether the process of a log has ended: the log contains its end, or the
// process has ended and writes nothing. Processes of other containers are not visible.
func (l *followedLog) over() bool {
	t := l.log.Trailer
	if t == nil || *t != l.last {
		l.quiet = time.Now()
		if t != nil {
			l.last = *t
		}
	}
	if t != nil && t.Final {
		return true
	}
	const settled = 3 * time.Second
	return rawfiles.HasEnded(int(l.log.Header.PID)) && time.Since(l.quiet) > settled
}

// refresh passes on new information about a process.
func (w *spikeFollower) refresh(l *followedLog) {
	about := &w.t.Spikes.Logs[l.number]
	about.Trailer = l.log.Trailer
	for _, th := range l.log.Threads {
		about.Threads[th.TID] = th.Name
	}
	w.t.AddModules(l.number, l.log)
}

// show prints spikes of a log.
func (w *spikeFollower) show(l *followedLog, list []*tracelog.Episode) error {
	b := bufio.NewWriter(w.t.Streams.Out)
	for _, e := range list {
		if !w.t.Wants(l.number, e.TID) {
			continue
		}
		w.t.Spikes.Add(l.number, e)
		sp := w.t.Spikes.Spike(l.number, e)
		g := w.t.Spikes.GroupOf(l.number, e)
		if g == nil || sp.Snapshot() {
			g = spikes.Alone(sp)
		}
		g.Idle = g.IdleSoFar(sp, w.t.Names.Name)
		if w.flags.Json {
			if err := w.flags.objects(w.t.Streams).Encode(w.t.Writer.Object(g, sp)); err != nil {
				return err
			}
			continue
		}
		if g.Unranked() {
			continue
		}
		if w.shown++; w.shown > followRate {
			w.left++
			continue
		}
		if err := w.t.Writer.Spike(b, g, sp); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

package push

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
)

// maxSettle is how long a mapped file must be unchanged if a process with its number runs whose mappings cannot be
// read: another process may have the number now.
const maxSettle = 24 * time.Hour

// read reads a file and reports whether it is complete. Files of processes that write at their
// end are complete when they have their name. A mapped file is complete when the process has marked its end, or
// when the process is gone and the file has not changed for a while: processes of other containers are
// invisible.
func (p *Pusher) read(f *file) (ready bool, err error) {
	const most = 1 << 30
	if f.info.Size() > most {
		return false, &os.PathError{Op: "read", Path: f.path, Err: errors.New("larger than 1 GB")}
	}
	file, err := os.Open(f.path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if f.info, err = file.Stat(); err != nil {
		return false, err
	}
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return false, err
	}
	f.data = data
	if strings.HasSuffix(f.path, logSuffix) {
		return p.logReady(f), nil
	}
	h, err := mip.ParseRawHeader(data)
	if err != nil {
		// The process may be starting. Otherwise the file is damaged, and the collector reports how.
		return time.Since(f.info.ModTime()) >= p.o.Settle, nil
	}
	if !h.Continuous || h.Sealed && !rawfiles.Mapped(f.path, h.PID) {
		return true, nil
	}
	rest := p.o.Settle
	switch state := processState(h.PID); {
	case state == gone:
	case state == hidden:
		rest = max(rest, maxSettle)
	default:
		if rawfiles.Mapped(f.path, h.PID) {
			return false, nil
		}
	}
	return time.Since(f.info.ModTime()) >= rest, nil
}

// logReady reports whether a log is complete: the process wrote the last record, or is gone and the log has not
// changed for a while.
func (p *Pusher) logReady(f *file) bool {
	rest := time.Since(f.info.ModTime())
	pid, ended := uint32(0), false
	if tracelog.DetectStacks(f.data) {
		l, err := tracelog.OpenStacks(bytes.NewReader(f.data), int64(len(f.data)), f.path, new(tracelog.Objects))
		if err == nil {
			pid, ended = l.Header.PID, l.Trailer != nil
		}
	} else if l, err := tracelog.Open(bytes.NewReader(f.data), int64(len(f.data)), f.path); err == nil {
		pid, ended = l.Header.PID, l.Trailer != nil
	}
	if ended {
		return true
	}
	if processState(pid) != gone {
		return rest >= max(p.o.Settle, maxSettle)
	}
	return rest >= p.o.Settle
}

// What is known of a process.
type state int

const (
	gone    state = iota
	visible       // its mappings can be read
	hidden
)

func processState(pid uint32) state {
	if pid == 0 || rawfiles.HasEnded(int(pid)) {
		return gone
	}
	f, err := os.Open(filepath.Join("/proc", strconv.FormatUint(uint64(pid), 10), "maps"))
	if err != nil {
		return hidden
	}
	f.Close()
	return visible
}

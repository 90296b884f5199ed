// Package xray reads the logs of LLVM's XRay: basic ("naive") logs of versions 1
// to 3 and FDR ("flight data recorder") logs of versions 1 to 5, in either byte
// order, as a [calllog.Log]. It is pure: it reads an io.ReaderAt.
//
// A log begins with a header of 32 bytes, in the byte order of the machine:
//
//	 0  u16 version   1 to 3 basic, 1 to 5 FDR
//	 2  u16 type      0 basic, 1 FDR
//	 4  u32 flags     always set, or garbage
//	 8  u64 rate      ticks per second, 0 if not known
//	16  u64 buffer    FDR: size of the runtime's buffers
//
// A basic log goes on with records of 32 bytes (basicindex.go). An FDR log is
// blocks, one for each buffer that a thread filled:
//
//	version 1   NewBuffer WallTime NewCPU record* EndBuffer, filled up to the buffer's size
//	version 2   Extents NewBuffer WallTime NewCPU record*
//	version 3+  Extents NewBuffer WallTime Process NewCPU record*
//
// (walker.go has the records). Open reads the beginnings of blocks only; records
// are read when they are asked for, by thread and in pieces, so that a log of any
// length needs little memory.
//
// Blocks of a thread are sorted by their wall-clock time, then by their first
// tick, then by their place in the file: a ring of buffers leaves them in any
// order, and ticks can go back. A block that occurs twice is read once. The
// runtime writes blocks twice when a thread ends before an older one, whose block
// is then missing; and after a fork both processes write the buffered records into
// one basic log.
//
// Damage is skipped and reported. A file may end anywhere.
//
// Logs in YAML, as llvm-xray converts to, are read as well (yaml.go).
package xray

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/calllog"
)

// Detect reports whether a file that begins with head is an XRay log, which needs 32 bytes, or one in YAML,
// which needs all that precedes its records. There is no magic number: a small version and type and a plausible
// rate are all that can be checked.
func Detect(head []byte) bool {
	_, ok := sniff(head, lastFDR)
	return ok || isYAML(head)
}

// Log is an open log. It is safe for use by several goroutines.
type Log struct {
	r       io.ReaderAt
	head    header
	info    calllog.Info
	threads []calllog.Thread
	parts   [][]part // of each thread, in order
	text    bool     // it is in YAML
	names   map[calllog.FuncID]string
}

// Names returns the names of functions that the log itself has: that of llvm-xray convert --symbolize does.
func (l *Log) Names() map[calllog.FuncID]string { return l.names }

// Open indexes a log of size bytes. name is used in messages. Damage is not an error: it is in the Info of the
// log.
func Open(r io.ReaderAt, size int64, name string) (*Log, error) {
	var head [headSize]byte
	if n, _ := r.ReadAt(head[:min(size, int64(len(head)))], 0); isYAML(head[:n]) {
		return openYAML(r, size, name)
	}
	h, err := readHeader(r, size, name)
	if err != nil {
		return nil, err
	}
	l := &Log{r: r, head: h, info: calllog.Info{File: name, Format: h.String(), Size: size}}
	ix := &index{log: l, ids: make(map[owner]int32)}
	if h.fdr {
		err = ix.fdr()
	} else {
		err = ix.basic()
	}
	if err != nil {
		return nil, err
	}
	l.note(ix)
	return l, nil
}

// Info implements [calllog.Log]. Its notes do not name the file.
func (l *Log) Info() *calllog.Info { return &l.info }

// Threads implements [calllog.Log].
func (l *Log) Threads() []calllog.Thread { return l.threads }

// PartTime implements [calllog.PartTimer].
func (l *Log) PartTime(thread, part int) (ticks uint64, ok bool) {
	p := &l.parts[thread][part]
	return p.first, p.timed
}

func (l *Log) window() window {
	return window{r: l.r, name: l.info.File, size: l.info.Size}
}

// note adds notes for users.
func (l *Log) note(ix *index) {
	in := &l.info
	add := func(format string, args ...any) { in.Notes = append(in.Notes, fmt.Sprintf(format, args...)) }
	if len(l.threads) == 0 && len(in.Damage) == 0 {
		how := "were functions patched (patch_premain=true)"
		if l.head.fdr {
			how = "was the log started (__xray_log_init_mode, __xray_patch)"
		}
		add("it has no calls: %s and instrumented (-fxray-instrument, -fxray-instruction-threshold=1), or were all calls shorter than func_duration_threshold_us?", how)
	}
	switch n := in.Duplicates; {
	case n == 0:
	case l.head.fdr:
		add("%s duplicated and read once: blocks of threads that were still running are likely to be missing", count(n, "block was", "blocks were"))
	default:
		add("%s duplicated and read once: the process forked, and both wrote what was buffered", count(n, "run of records was", "runs of records were"))
	}
	if ix.stepped > 0 {
		add("the clock of %s went back: their blocks are in the order of wall-clock time", count(ix.stepped, "thread", "threads"))
	}
	if ix.objects && l.head.fdr {
		add("calls in shared objects: FDR logs keep only 4 of 8 bits of an object's number, so objects 16, 32 and so on look like the main program, and 17 like 1")
	}
	if ix.unsearched {
		add("time goes back so often that what a fork wrote twice was not looked for everywhere")
	}
	if l.head.hz == 0 && in.Clock.Hz != 0 {
		add("assuming ticks of %.1f MHz, estimated from the log's wall-clock marks; its header does not say", float64(in.Clock.Hz)/1e6)
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

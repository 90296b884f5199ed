package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	// coldLatency is how long a read from a coldDevice takes: 1,400 reads a second, as flash of phones has.
	coldLatency = 714 * time.Microsecond
	coldRuns    = 5 // of each scenario from a cold cache, of which the median counts
)

// coldReadAheads are how much is read around a page that is missed, in KiB. 128 is Linux's default.
var coldReadAheads = []int{0, 16, 128}

// A coldDevice is a file system with one program on it, which keeps no page in memory from one run to the next. It
// answers one read at a time, each after coldLatency. A limit by a control group (blkio) is no such device: it lets the
// first hundred reads pass.
type coldDevice struct {
	path   string // of the program
	server *fuse.Server
	file   *coldFile
}

// coldFile is the program. Its pages are dropped when it is opened, as Open does not ask for its cache to be kept.
type coldFile struct {
	fs.Inode
	program *os.File
	size    int64

	busy  sync.Mutex // the device does one read at a time
	reads atomic.Int64
}

// newColdDevice mounts a device with the program on dir, which need not exist.
func newColdDevice(dir, program string) (*coldDevice, error) {
	f, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	d := &coldDevice{path: filepath.Join(dir, filepath.Base(program)), file: &coldFile{program: f}}
	info, err := f.Stat()
	if err == nil {
		d.file.size = info.Size()
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		d.server, err = fs.Mount(dir, &coldRoot{name: filepath.Base(program), file: d.file}, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, Options: []string{"ro"}}})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

// readAhead sets how much is read around a page that is missed.
func (d *coldDevice) readAhead(kib int) error {
	var stat unix.Stat_t
	if err := unix.Stat(d.path, &stat); err != nil {
		return err
	}
	bdi := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	return os.WriteFile(bdi, []byte(strconv.Itoa(kib)), 0)
}

func (d *coldDevice) close() error {
	return errors.Join(d.server.Unmount(), d.file.program.Close())
}

// coldRoot is the directory of a coldFile.
type coldRoot struct {
	fs.Inode
	name string
	file *coldFile
}

func (r *coldRoot) OnAdd(ctx context.Context) {
	r.AddChild(r.name, r.NewPersistentInode(ctx, r.file, fs.StableAttr{Mode: syscall.S_IFREG}), false)
}

func (f *coldFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, 0
}

func (f *coldFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFREG|0o555, uint64(f.size)
	return 0
}

func (f *coldFile) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.busy.Lock()
	defer f.busy.Unlock()
	f.reads.Add(1)
	time.Sleep(coldLatency)
	n, err := f.program.ReadAt(dest, off)
	if err != nil && err != io.EOF {
		return nil, syscall.EIO
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// A coldStart is what a scenario takes from a device that waits.
type coldStart struct {
	Time  float64 // median of the wall time, in milliseconds
	Reads float64 // median
}

// coldStarts runs a scenario from a device with each of coldReadAheads. Without the right to mount one it returns nil.
func (s *startupGuest) coldStarts(ctx context.Context, l *layout, sc *scenario) ([]coldStart, error) {
	d, err := newColdDevice(s.file("device"), l.path)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	starts, err := s.startsFrom(ctx, d, sc)
	return starts, errors.Join(err, d.close())
}

func (s *startupGuest) startsFrom(ctx context.Context, d *coldDevice, sc *scenario) ([]coldStart, error) {
	var starts []coldStart
	for _, kib := range coldReadAheads {
		if err := d.readAhead(kib); err != nil {
			return nil, err
		}
		var times, reads []float64
		for range coldRuns {
			dir, err := s.fresh(ctx)
			if err != nil {
				return nil, err
			}
			// A shell starts the program: while this process itself waited in execve for a page of the device, no goroutine
			// could be stopped, and the one that answers might have to wait for that.
			cmd := command(ctx, dir, s.g.env, append([]string{"/bin/sh", "-c", `exec "$0" "$@"`, d.path}, sc.args...)...)
			cmd.Stdin = strings.NewReader(sc.stdin)
			before, begin := d.file.reads.Load(), time.Now()
			if _, err := finish(cmd); err != nil {
				return nil, err
			}
			times = append(times, float64(time.Since(begin))/1e6)
			reads = append(reads, float64(d.file.reads.Load()-before))
		}
		slices.Sort(times)
		slices.Sort(reads)
		starts = append(starts, coldStart{times[coldRuns/2], reads[coldRuns/2]})
	}
	return starts, nil
}

// addStarts adds a scenario's share to the means of a row.
func (s *startupGuest) addStarts(ctx context.Context, r *startupRow, l *layout, sc *scenario) error {
	starts, err := s.coldStarts(ctx, l, sc)
	if err != nil || len(starts) == 0 {
		return err
	}
	if r.Starts == nil {
		r.Starts = make([]coldStart, len(starts))
	}
	n := float64(len(s.g.scenarios))
	for i := range starts {
		r.Starts[i].Time += starts[i].Time / n
		r.Starts[i].Reads += starts[i].Reads / n
	}
	return nil
}

// startRows is the table of starts from a device, with times as ratios to the first row.
func startRows(rows []startupRow) [][]string {
	head := []string{"held out, from a device"}
	for _, kib := range coldReadAheads {
		head = append(head, fmt.Sprintf("read-ahead %d KiB, ms", kib), "ratio", "reads")
	}
	out := [][]string{head}
	for i := range rows {
		cells := []string{rows[i].Name}
		for k, start := range rows[i].Starts {
			cells = append(cells, fmt.Sprintf("%.1f", start.Time), fmt.Sprintf("%.3f", start.Time/rows[0].Starts[k].Time), fmt.Sprintf("%.1f", start.Reads))
		}
		out = append(out, cells)
	}
	return out
}

// startTargets compares starts of --use with those of the linker's default and of LLVM's best, in time, of the programs of which they
// were measured.
func startTargets(results []startupResult) (targets []target) {
	for k, kib := range coldReadAheads {
		var toDefault, toLLVM []float64
		for i := range results {
			r := &results[i]
			use := r.row("cairn --use").Starts
			if use == nil {
				continue
			}
			toDefault = append(toDefault, use[k].Time/r.row("linker's default").Starts[k].Time-1)
			toLLVM = append(toLLVM, use[k].Time/r.row("lld --bp-startup-sort").Starts[k].Time-1)
		}
		if len(toDefault) == 0 {
			return nil
		}
		with := fmt.Sprintf("held-out starts from a device, read-ahead of %d KiB, mean of %d programs, to ", kib, len(toDefault))
		targets = append(targets, atMost(with+"the linker's default", mean(toDefault), -0.25),
			atMost(with+"`lld --bp-startup-sort`", mean(toLLVM), -0.10))
	}
	return targets
}

// Package rawfiles reads and sums the raw files of runs, on all processors.
package rawfiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

const (
	batch   = 64       // number of files per unit of work
	bufSize = 64 << 10 // bytes of a worker's first buffer
)

// Complaint is a file that was not merged.
type Complaint struct {
	index  int    // of the raw file, to sort by
	File   string `json:"file"`
	Kind   string `json:"kind"` // one of the kinds below
	Reason string `json:"reason"`
	// Build is the build that a file of kind OtherBuild is of.
	Build prof.BuildID `json:"-"`
}

// Kinds of complaints.
const (
	Unreadable = "unreadable"
	Unknown    = "unknown"  // no file of cairn's
	Damaged    = "damaged"  // cut off or overwritten
	OtherBuild = "build"    // of a build that the profile does not hold
	Conflict   = "conflict" // another map for a build that it holds
	Repeated   = "repeated" // a profile with some of the runs that it holds, and others
)

// Sum sums raw files. All workers share the layouts.
type Sum struct {
	// Done is the number of files that were looked at so far.
	Done atomic.Int64
	// Again has runs summed that the profile holds, or that are there twice.
	Again bool
	// Repeated is, after Run, the number of files that were skipped for that reason.
	Repeated int
	// Running are, after Run, the files that their processes still count into.
	Running []string
	// Changed are, after Run, the files that are not as their processes left them: calls in them are not counted.
	Changed []string

	paths   []string
	layouts map[prof.BuildID]*merge.Layout
	holds   string // the content of the profile, for error messages about other files
	limit   uint64 // bytes of the largest raw file that can be good
	traces  Traces
	packed  map[string][]byte // content of those of paths that are in packs
	held    map[prof.BuildID]*prof.RunSet

	next  atomic.Int64
	mu    sync.Mutex
	taken map[runOf]bool // runs that a worker has summed, or is about to
}

// runOf is a run of a module.
type runOf struct {
	l  *merge.Layout
	id uint64
}

// isNew reports whether a run is not in the sums yet, and that it is from now on.
func (r *Sum) isNew(run runOf) bool {
	if run.id == 0 || r.Again {
		return true
	}
	if merge.Holds(r.held[run.l.Map().BuildID], run.id) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken[run] {
		return false
	}
	r.taken[run] = true
	return true
}

// giveBack removes a run that was claimed but is not in the sums: its file is damaged, and
// there may be another file of the run.
func (r *Sum) giveBack(run runOf) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.taken, run)
}

// New prepares to sum the files at paths into the modules of p. name is the profile's name.
// packed has the contents of files in packs.
func New(paths []string, packed map[string][]byte, p *prof.Profile, name string, traces Traces) *Sum {
	r := &Sum{
		paths: paths, packed: packed, traces: traces,
		layouts: make(map[prof.BuildID]*merge.Layout, len(p.Modules)), holds: name + " holds " + holdings(p),
		held: make(map[prof.BuildID]*prof.RunSet, len(p.Modules)), taken: make(map[runOf]bool),
	}
	size := uint64(0)
	for i := range p.Modules {
		m := &p.Modules[i].Map
		r.layouts[m.BuildID] = merge.NewLayout(m)
		r.held[m.BuildID] = &p.Modules[i].Held
		size = max(size, m.RawSize)
	}
	// Live memory ends with a page.
	r.limit = 2*mip.MaxRawOffset + size + wire.MaxRawCopies + wire.SlotSize*wire.MaxSlots
	return r
}

// holdings returns the names of the modules of p, at most three.
func holdings(p *prof.Profile) string {
	const most = 3
	if len(p.Modules) == 0 {
		return "no map"
	}
	s := ""
	for i := range p.Modules {
		if i == most {
			return fmt.Sprintf("%s and %d more", s, len(p.Modules)-most)
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s (%s)", p.Modules[i].Module, p.Modules[i].BuildID.Short())
	}
	return s
}

// Run returns a profile with the sums of the files, and the files that are not
// in it. It ends early with ctx.
func (r *Sum) Run(ctx context.Context) (*prof.Profile, []Complaint) {
	workers := make([]*worker, min(runtime.GOMAXPROCS(0), (len(r.paths)+batch-1)/batch))
	var wg sync.WaitGroup
	for i := range workers {
		w := &worker{r: r, accs: make(map[prof.BuildID]*merge.Accumulator)}
		workers[i] = w
		wg.Go(func() { w.run(ctx) })
	}
	wg.Wait()
	var bad []Complaint
	total := make(map[prof.BuildID]*merge.Accumulator)
	for _, w := range workers {
		bad = append(bad, w.bad...)
		r.Repeated += w.repeated
		r.Running = append(r.Running, w.running...)
		r.Changed = append(r.Changed, w.changed...)
		for id, acc := range w.accs {
			if total[id] == nil {
				total[id] = acc
			} else {
				total[id].Merge(acc)
			}
		}
	}
	stablesort.Func(bad, func(a, b Complaint) int { return cmp.Compare(a.index, b.index) })
	p := new(prof.Profile)
	for _, acc := range total {
		p.Modules = append(p.Modules, acc.Module())
	}
	return p, bad
}

// worker sums the files that it takes from the common list.
type worker struct {
	r    *Sum
	buf  []byte
	accs map[prof.BuildID]*merge.Accumulator
	bad  []Complaint

	repeated int // files of runs that are in the sums already
	running  []string
	changed  []string
}

func (w *worker) run(ctx context.Context) {
	w.buf = make([]byte, min(bufSize, w.r.limit))
	for ctx.Err() == nil {
		from := int(w.r.next.Add(batch)) - batch
		if from >= len(w.r.paths) {
			return
		}
		to := min(from+batch, len(w.r.paths))
		for i := from; i < to; i++ {
			if kind, err := w.add(w.r.paths[i]); err != nil {
				c := Complaint{index: i, File: w.r.paths[i], Kind: kind, Reason: err.Error()}
				if other := (*otherBuild)(nil); errors.As(err, &other) {
					c.Build = other.id
				}
				w.bad = append(w.bad, c)
			}
		}
		w.r.Done.Add(int64(to - from))
	}
}

// otherBuild is the error of a raw file of a build that the profile does not hold.
type otherBuild struct {
	id    prof.BuildID
	holds string // what it holds
}

func (e *otherBuild) Error() string {
	return fmt.Sprintf("is of build %s, %s: merge it with its own binary", e.id.Short(), e.holds)
}

// add adds the file at path, or returns the error.
func (w *worker) add(path string) (kind string, err error) {
	data, err := w.read(path)
	if err != nil {
		return Unreadable, err
	}
	h, err := mip.ParseRawHeader(data)
	if errors.Is(err, mip.ErrMagic) {
		return Unknown, err
	} else if err != nil {
		return Damaged, err
	}
	l := w.r.layouts[h.BuildID]
	if l == nil {
		return OtherBuild, &otherBuild{h.BuildID, w.r.holds}
	}
	if want := l.Map().RawSize; h.Size != want {
		return Damaged, fmt.Errorf("raw section of %d bytes, but that of %s has %d", h.Size, l.Map().Module, want)
	}
	raw, err := mip.ParseRaw(data)
	if err != nil {
		return Damaged, err
	}
	run := w.r.traces.Run(path, &raw)
	taken := runOf{l, run.ID}
	if !w.r.isNew(taken) {
		w.repeated++
		return "", nil
	}
	acc := w.accs[h.BuildID]
	if acc == nil {
		acc = merge.NewAccumulator(l, w.r.traces.Limit)
		w.accs[h.BuildID] = acc
	}
	err = acc.AddRun(run)
	if err != nil {
		w.r.giveBack(taken)
	} else if Running(path, &raw) {
		w.running = append(w.running, path)
	} else if raw.Changed && l.Counts() {
		w.changed = append(w.changed, path)
	}
	if bad := (*merge.FlagError)(nil); errors.As(err, &bad) {
		return Damaged, fmt.Errorf("damaged raw file: at offset %#x: flag of %s is %#x, not %s", h.Offset+uint64(bad.Off), bad.Func, bad.Value, bad.Valid())
	}
	return Damaged, err
}

// read reads the file at path into the worker's buffer, up to the size that can be used. With
// a hundred thousand small files, system calls are most of the work: there are three here, and
// no allocation, whereas os.ReadFile has six.
func (w *worker) read(path string) ([]byte, error) {
	if data, ok := w.r.packed[path]; ok {
		return data, nil
	}
	fd, err := retry(func() (descriptor, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	n := 0
	for {
		got, err := retry(func() (int, error) { return syscall.Read(fd, w.buf[n:]) })
		if err != nil {
			return nil, err
		}
		n += got
		switch {
		case got == 0, n < len(w.buf) && complete(w.buf[:n]):
			return w.buf[:n], nil
		case n < len(w.buf):
		case uint64(n) >= w.r.limit:
			return w.buf[:n], nil
		default:
			buf := make([]byte, min(uint64(n)*2, w.r.limit))
			copy(buf, w.buf)
			w.buf = buf
		}
	}
}

// complete reports whether data is a whole raw file, so that the end of the file need not be
// read.
func complete(data []byte) bool {
	h, err := mip.ParseRawHeader(data)
	return err == nil && h.End() <= uint64(len(data))
}

// retry calls f until no signal interrupts it.
func retry[T any](f func() (T, error)) (T, error) {
	for {
		if got, err := f(); !errors.Is(err, syscall.EINTR) {
			return got, err
		}
	}
}

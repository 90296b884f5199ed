package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/merge"
	"github.com/cairnprof/cairn/prof"
)

const (
	rawBatch   = 64       // files that a worker takes at a time
	rawBufSize = 64 << 10 // bytes of a worker's first buffer
)

// rawFiles sums raw files. The layouts are what all workers share.
type rawFiles struct {
	paths   []string
	layouts map[prof.BuildID]*merge.Layout
	holds   string // what the profile holds, for those who bring something else
	limit   uint64 // bytes of the largest raw file that can be good
	traces  runFlags
	packed  map[string][]byte // what is at those of paths that are in packs

	next, done atomic.Int64
}

// newRawFiles prepares to sum the files at paths into the modules of p, which
// is called name.
func newRawFiles(paths []string, p *prof.Profile, name string, traces runFlags) *rawFiles {
	r := &rawFiles{paths: paths, traces: traces, layouts: make(map[prof.BuildID]*merge.Layout, len(p.Modules)), holds: name + " holds " + holdings(p)}
	size := uint64(0)
	for i := range p.Modules {
		m := &p.Modules[i].Map
		r.layouts[m.BuildID] = merge.NewLayout(m)
		size = max(size, m.RawSize)
	}
	// Live memory ends with a page.
	r.limit = 2*mip.MaxRawOffset + size + wire.SlotSize*wire.MaxSlots
	return r
}

// holdings names the modules of p, at most three of them.
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
		s += fmt.Sprintf("%s (%s)", p.Modules[i].Module, shortID(p.Modules[i].BuildID))
	}
	return s
}

// sum returns a profile with the sums of the files, and the files that are not
// in it. It ends early with ctx.
func (r *rawFiles) sum(ctx context.Context) (*prof.Profile, []complaint) {
	workers := make([]*rawWorker, min(runtime.GOMAXPROCS(0), (len(r.paths)+rawBatch-1)/rawBatch))
	var wg sync.WaitGroup
	for i := range workers {
		w := &rawWorker{r: r, accs: make(map[prof.BuildID]*merge.Accumulator)}
		workers[i] = w
		wg.Go(func() { w.run(ctx) })
	}
	wg.Wait()
	var bad []complaint
	total := make(map[prof.BuildID]*merge.Accumulator)
	for _, w := range workers {
		bad = append(bad, w.bad...)
		for id, acc := range w.accs {
			if total[id] == nil {
				total[id] = acc
			} else {
				total[id].Merge(acc)
			}
		}
	}
	slices.SortFunc(bad, func(a, b complaint) int { return cmp.Compare(a.index, b.index) })
	p := new(prof.Profile)
	for _, acc := range total {
		p.Modules = append(p.Modules, acc.Module())
	}
	return p, bad
}

// rawWorker sums the files that it takes from the common list.
type rawWorker struct {
	r    *rawFiles
	buf  []byte
	accs map[prof.BuildID]*merge.Accumulator
	bad  []complaint
}

func (w *rawWorker) run(ctx context.Context) {
	w.buf = make([]byte, min(rawBufSize, w.r.limit))
	for ctx.Err() == nil {
		from := int(w.r.next.Add(rawBatch)) - rawBatch
		if from >= len(w.r.paths) {
			return
		}
		to := min(from+rawBatch, len(w.r.paths))
		for i := from; i < to; i++ {
			if kind, err := w.add(w.r.paths[i]); err != nil {
				w.bad = append(w.bad, complaint{index: i, File: w.r.paths[i], Kind: kind, Reason: err.Error()})
			}
		}
		w.r.done.Add(int64(to - from))
	}
}

// add adds the file at path, or says what is wrong with it.
func (w *rawWorker) add(path string) (kind string, err error) {
	data, err := w.read(path)
	if err != nil {
		return complaintUnreadable, err
	}
	h, err := mip.ParseRawHeader(data)
	if errors.Is(err, mip.ErrMagic) {
		return complaintUnknown, err
	} else if err != nil {
		return complaintDamaged, err
	}
	l := w.r.layouts[h.BuildID]
	if l == nil {
		return complaintBuild, fmt.Errorf("is of build %s, %s: merge it with its own binary", shortID(h.BuildID), w.r.holds)
	}
	if want := l.Map().RawSize; h.Size != want {
		return complaintDamaged, fmt.Errorf("a raw section of %d bytes, that of %s has %d", h.Size, l.Map().Module, want)
	}
	raw, err := mip.ParseRaw(data)
	if err != nil {
		return complaintDamaged, err
	}
	acc := w.accs[h.BuildID]
	if acc == nil {
		acc = merge.NewAccumulator(l, w.r.traces.limit)
		w.accs[h.BuildID] = acc
	}
	var bad *merge.FlagError
	if err := acc.AddRun(w.r.traces.run(path, &raw)); errors.As(err, &bad) {
		return complaintDamaged, fmt.Errorf("damaged raw file: at offset %#x: flag of %s is %#x, only 0 and 1 are ever written", h.Offset+uint64(bad.Off), bad.Func, bad.Value)
	} else if err != nil {
		return complaintDamaged, err
	}
	return "", nil
}

// read reads the file at path into the worker's buffer, as far as it can be of
// use. With a hundred thousand small files the calls to the system are most of
// the work: there are three here, and no allocation, where os.ReadFile has six.
func (w *rawWorker) read(path string) ([]byte, error) {
	if data, ok := w.r.packed[path]; ok {
		return data, nil
	}
	var fd int
	if err := retry(func() (err error) {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		return err
	}); err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	n := 0
	for {
		var got int
		if err := retry(func() (err error) {
			got, err = syscall.Read(fd, w.buf[n:])
			return err
		}); err != nil {
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

// complete reports whether data holds a whole raw file, so that there is no
// need to ask for its end.
func complete(data []byte) bool {
	h, err := mip.ParseRawHeader(data)
	return err == nil && h.End() <= uint64(len(data))
}

// retry calls f until no signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

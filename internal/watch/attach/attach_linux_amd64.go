package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/stablesort"
)

const callStack = 256 << 10

// onOneThread runs f on a locked OS thread, as ptrace requires. The thread ends with f: it precedes others, if we may
// do that, as the program waits for it.
func onOneThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20)
		done <- f()
	}()
	return <-done
}

// Attach hooks functions of a running program. After an error the program continues unchanged, and a result that is not
// nil tells what its threads did.
func Attach(ctx context.Context, o *Options) (r *Result, err error) {
	if err := Check(o.PID); err != nil {
		return nil, err
	}
	err = onOneThread(func() error {
		r, err = attach(ctx, o)
		return err
	})
	return r, err
}

// attacher is the state of Attach for a process.
type attacher struct {
	*process
	o       *Options
	lib     loadedLibrary
	own     ownMemory
	modules *modules
	waiting []Thread
	maps    []mapping
	bias    uint64 // of the program
	sites   []site
	inner   map[uint64]uint64 // where a thread continues that stands in changed code
	changed int               // sites that were changed before
	stub    region
	blob    map[*detour.Plan]uint64
	halts   halts

	unwinder struct {
		plan *detour.Plan // of the program's unwinder, nil if there is none
		bias uint64
	}
}

// loadedLibrary is the library in the process.
type loadedLibrary struct {
	file   *objfile.Shared
	rows   []ehframe.Row
	fdes   []ehframe.Frame
	at     uint64 // where its image is
	header uint64 // through which detaching finds everything else
}

// ownMemory is the memory in the process that is neither the program's nor of the library.
type ownMemory struct {
	file       uint64 // descriptor in the process of the file that memory is mapped from, or noFile
	size       uint64 // of the file
	tables     uint64 // unwind tables and words
	tablesSize uint64
	stack      uint64 // for the call of the library
	sites      uint64 // list of sites
}

// halts are the times at which all threads stood still.
type halts struct {
	began   time.Time // of the stop that lasts, when the first thread stopped; zero if there is none
	count   int
	longest time.Duration
}

// The threads are stopped for stopBudget, if changing a page more does not take longer, and run for runTime before
// the next stop.
const (
	stopBudget = 8 * time.Millisecond
	runTime    = 4 * time.Millisecond
)

// halt stops all threads.
func (a *attacher) halt() error {
	a.first = time.Time{}
	err := a.stop()
	if a.halts.began = a.first; a.halts.began.IsZero() {
		a.halts.began = time.Now()
	}
	return err
}

// resume lets them go, without ptrace: signals must not wait for us.
func (a *attacher) resume() {
	a.release()
	a.calls = nil
	a.halts.count++
	a.halts.longest = max(a.halts.longest, time.Since(a.halts.began))
	a.halts.began = time.Time{}
}

// pause lets the threads run for a while if they were stopped for as long as the budget allows.
func (a *attacher) pause() error {
	if time.Since(a.halts.began) < stopBudget {
		return nil
	}
	a.resume()
	time.Sleep(runTime)
	err := a.halt()
	if err == nil {
		a.maps, err = a.awaitCaller()
	}
	return err
}

// whileStopped runs f while all threads are stopped.
func (a *attacher) whileStopped(f func() error) error {
	if err := a.halt(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	a.resume()
	return nil
}

func attach(ctx context.Context, o *Options) (*Result, error) {
	a := &attacher{o: o, inner: map[uint64]uint64{}, own: ownMemory{file: noFile}, blob: map[*detour.Plan]uint64{}}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	p, err := openProcess(ctx, o.PID)
	if err != nil {
		return nil, whyNotTraced(o.PID, err)
	}
	defer p.close()
	a.process = p
	p.unwind = a.modules.unwind
	r, err := a.putIn()
	if err != nil {
		if left := a.rollBack(); left != nil {
			err = fmt.Errorf("%w; undoing the changes failed: %w", err, left)
		}
		return &Result{Threads: a.waiting, Modules: a.modules.list()}, err
	}
	r.Threads, r.Modules = a.waiting, a.modules.list()
	r.Stops, r.Stopped = a.halts.count, a.halts.longest
	return r, nil
}

// prepare does everything that needs no stopped program.
func (a *attacher) prepare() error {
	began, switches := time.Now(), countSwitches(a.o.PID)
	if err := a.prepareFiles(); err != nil {
		return err
	}
	a.waiting = threadsOf(a.o.PID, began, switches)
	stablesort.Func(a.waiting, func(x, y Thread) int { return cmp.Compare(y.Still, x.Still) })
	return nil
}

func (a *attacher) prepareFiles() error {
	maps, err := readMaps(a.o.PID)
	if err != nil {
		return whyNotTraced(a.o.PID, err)
	}
	a.modules = readModules(a.o.PID, maps)
	if err := a.modules.check(a.o.PID); err != nil {
		return err
	}
	f, err := objfile.Open(a.o.Library)
	if err != nil {
		return err
	}
	defer f.Close()
	if a.lib.file, err = f.Shared(); err != nil {
		return err
	}
	frames, addr, _, _, err := f.Section(".eh_frame")
	if err != nil {
		return err
	}
	if a.lib.rows, err = ehframe.Rows(frames, addr, f.Machine()); err != nil {
		return err
	}
	if a.lib.fdes, err = ehframe.Read(frames, addr, f.Machine()); err != nil {
		return err
	}
	entry, err := auxiliary(a.o.PID, procmaps.AuxEntry)
	if err != nil || entry == 0 {
		return fmt.Errorf("process %d: cannot find its program in memory", a.o.PID)
	}
	a.bias = entry - a.o.Entry
	if a.modules.unwinder == "" {
		return nil
	}
	if err := a.planUnwinder(maps); err != nil {
		return fmt.Errorf("its unwinder (%s): %w", a.modules.unwinder, err)
	}
	return nil
}

// check refuses programs whose exceptions could not pass the hooks.
func (ms *modules) check(pid int) error {
	switch {
	case ms.throws == "":
	case ms.other != "":
		return fmt.Errorf("process %d: its exceptions use the unwinder %s, which does not support hooks", pid, ms.other)
	case ms.unwinder == "":
		return fmt.Errorf("process %d: %s has exceptions and its own unwinder, which does not support hooks", pid, ms.throws)
	}
	return nil
}

// putIn attaches. Threads are stopped while memory is mapped, while the library starts, and while code is changed.
func (a *attacher) putIn() (*Result, error) {
	if err := a.whileStopped(func() error {
		a.addStacks()
		if err := a.checkFilters(); err != nil {
			return err
		}
		return a.mapMemory()
	}); err != nil {
		return nil, err
	}
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("loading the library into it: %w", err)
	}
	if err := a.whileStopped(a.begin); err != nil {
		return nil, err
	}
	if err := a.placeAll(); err != nil {
		return nil, err
	}
	_, own := split(a.sites)
	r := &Result{Hooked: len(own), Changed: a.changed}
	var err error
	if r.Log, err = a.logPath(); err != nil {
		return nil, err
	}
	return r, a.hook()
}

// mapMemory maps all memory that is needed, as the file that it is mapped from is open only now.
func (a *attacher) mapMemory() error {
	var err error
	if a.maps, err = a.awaitCaller(); err != nil {
		return err
	}
	if err := a.makeHeader(); err != nil {
		return fmt.Errorf("allocating memory in it: %w", err)
	}
	if err := a.pause(); err != nil {
		return err
	}
	a.own.tablesSize = unwindModuleSize + uint64(len(a.lib.rows))*unwindRowSize
	for _, m := range a.modules.unwind {
		a.own.tablesSize += unwindModuleSize + uint64(len(m.rows))*unwindRowSize
	}
	for _, w := range a.o.Words {
		a.own.tablesSize += uint64(len(w)) + 1
	}
	list := uint64(len(a.o.Plan.Sites)+1) * siteSize
	for _, m := range []struct {
		at   *uint64
		size uint64
	}{{&a.lib.at, uint64(len(a.lib.file.Image))}, {&a.own.tables, a.own.tablesSize}, {&a.own.stack, callStack}, {&a.own.sites, list}} {
		if *m.at, err = a.memory(0, m.size); err != nil {
			return fmt.Errorf("allocating memory in it: %w", err)
		}
		if err := a.pause(); err != nil {
			return err
		}
	}
	if err := a.mapBlob(a.o.Plan, a.bias); err != nil {
		return err
	}
	if err := a.pause(); err != nil {
		return err
	}
	if a.unwinder.plan != nil {
		if err := a.mapBlob(a.unwinder.plan, a.unwinder.bias); err != nil {
			return err
		}
	}
	return a.closeFile(a.own.file)
}

// makeHeader makes the memory through which detaching finds everything else.
func (a *attacher) makeHeader() error {
	var err error
	if a.own.file, err = a.makeFile(); err != nil {
		return err
	}
	if a.lib.header, err = a.memory(0, attachEnd); err != nil {
		return err
	}
	b := append([]byte(magic), make([]byte, offMapped-len(magic))...)
	le.PutUint64(b[offSize:], attachEnd)
	return a.write(b, a.lib.header)
}

// memory maps new memory in the process, from the beginning of the file, which stays empty. at is 0 for any
// address.
func (a *attacher) memory(at, size uint64) (uint64, error) {
	size = (size + 4095) &^ 4095
	if size > a.own.size {
		// The kernel would end the program by SIGXFSZ.
		if limit := limitOf(a.pid, "Max file size"); limit < size {
			return 0, fmt.Errorf("process %d can write files of at most %d bytes (ulimit -f), but %d are needed", a.pid, limit, size)
		}
		if _, err := a.calls.syscall(syscall.SYS_FTRUNCATE, a.own.file, size); err != nil {
			return 0, err
		}
		a.own.size = size
	}
	flags := uint64(mapPrivate)
	if at != 0 {
		flags |= mapNoReplace
	}
	got, err := a.calls.syscall(syscall.SYS_MMAP, at, size, protRW, flags, a.own.file, 0)
	if err == nil && at != 0 && got != at {
		return 0, errors.New("cannot map memory at a fixed address (a kernel before 4.17?)")
	}
	return got, err
}

func (a *attacher) protect(at, size, prot uint64) error {
	_, err := a.calls.syscall(syscall.SYS_MPROTECT, at, (size+4095)&^4095, prot)
	if prot == protRX && err != nil {
		return fmt.Errorf("the system forbids new code (SELinux execmem?): %w", err)
	}
	return err
}

// code returns the addresses of the library's code.
func (a *attacher) code() (code region) {
	for _, s := range a.lib.file.Segments {
		if s.Executed {
			code = region{a.lib.at + s.Addr, a.lib.at + s.Addr + s.Size}
		}
	}
	return code
}

// load puts the library and its data into the process.
func (a *attacher) load() error {
	image := slices.Clone(a.lib.file.Image)
	for _, at := range a.lib.file.Relative {
		le.PutUint64(image[at:], le.Uint64(image[at:])+a.lib.at)
	}
	if err := a.write(image, a.lib.at); err != nil {
		return err
	}
	code := a.code()
	known := append(slices.Clone(a.modules.unwind), unwindModule{lo: code.lo, hi: code.hi, rows: a.lib.rows, bias: a.lib.at, own: true})
	data := encodeUnwind(known, a.own.tables)
	if err := a.setWord(a.lib.header+offUnwind, a.own.tables); err != nil {
		return err
	}
	if err := a.setWord(a.lib.header+offModules, uint64(len(known))); err != nil {
		return err
	}
	for i, w := range a.o.Words {
		if i == maxWords-1 {
			return errors.New("too many settings")
		}
		if err := a.setWord(a.lib.header+offWords+uint64(8*i), a.own.tables+uint64(len(data))); err != nil {
			return err
		}
		data = append(append(data, w...), 0)
	}
	return a.write(data, a.own.tables)
}

// begin starts the library.
func (a *attacher) begin() error {
	if _, err := a.awaitCaller(); err != nil {
		return err
	}
	for _, s := range a.lib.file.Segments {
		if s.Executed {
			lo := (a.lib.at + s.Addr) &^ 4095
			if err := a.protect(lo, a.lib.at+s.Addr+s.Size-lo, protRX); err != nil {
				return err
			}
		}
	}
	if err := a.protect(a.own.tables, a.own.tablesSize, protRead); err != nil {
		return err
	}
	if err := a.pause(); err != nil {
		return err
	}
	entry := a.lib.at + a.lib.file.Symbols["__cairn_attach_enter"]
	if err := a.calls.enter(entry, a.lib.header, a.own.stack+callStack-64, region{a.lib.at, a.lib.at + uint64(len(a.lib.file.Image))}); err != nil {
		return err
	}
	h, err := a.readHeader()
	if err != nil {
		return err
	}
	a.stub = region{h.u64(offStub), h.u64(offStubEnd)}
	why := h.u64(offRefused)
	if why == 0 {
		return nil
	}
	text, err := a.text(why)
	if err != nil {
		return err
	}
	if said := strings.TrimSpace(h.said()); said != "" {
		text += ": " + strings.TrimPrefix(said, "cairn: ")
	}
	return fmt.Errorf("process %d: %s", a.pid, text)
}

func (h header) said() string { return string(h[offSaid : offSaid+min(h.u64(offSaidLen), maxSaid)]) }

func (p *process) readHeaderAt(at uint64) (header, error) {
	h := make(header, attachEnd)
	if err := p.read(h, at); err != nil {
		return nil, err
	}
	if h.u64(offMagic) == 0 { // its creator was killed before it filled the header
		return h, nil
	}
	return h, h.check(p.pid)
}

func (a *attacher) readHeader() (header, error) { return a.readHeaderAt(a.lib.header) }

// text reads a zero-terminated string.
func (p *process) text(at uint64) (string, error) {
	var out []byte
	for len(out) < 4096 {
		var b [1]byte
		if err := p.read(b[:], at+uint64(len(out))); err != nil {
			return "", err
		}
		if b[0] == 0 {
			break
		}
		out = append(out, b[0])
	}
	return string(out), nil
}

func (a *attacher) logPath() (string, error) {
	at, err := a.word(a.lib.header + offLogPath)
	if err != nil {
		return "", err
	}
	path, err := a.text(at)
	if err == nil && path == "" {
		err = errors.New("it has no log")
	}
	if err == nil && !sameNamespace(a.pid) {
		path = fmt.Sprintf("/proc/%d/root%s", a.pid, path)
	}
	return path, err
}

func sameNamespace(pid int) bool {
	ours, err := os.Readlink("/proc/self/ns/mnt")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	ourRoot, err3 := os.Stat("/proc/self/root/.")
	theirRoot, err4 := os.Stat(fmt.Sprintf("/proc/%d/root/.", pid))
	return err == nil && err2 == nil && ours == theirs && err3 == nil && err4 == nil && os.SameFile(ourRoot, theirRoot)
}

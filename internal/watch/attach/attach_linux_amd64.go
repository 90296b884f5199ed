package attach

import (
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
)

const callStack = 256 << 10

// onOneThread runs f on a locked OS thread, as ptrace requires.
func onOneThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return <-done
}

// Attach hooks functions of a running program. After an error the program continues unchanged.
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
	library *objfile.Shared
	rows    []ehframe.Row // of the library
	fdes    []ehframe.Frame
	modules *modules
	maps    []mapping
	bias    uint64 // of the program
	fd      uint64 // of the file in the process that memory is mapped from, or noFile
	room    uint64 // its size
	header  uint64
	image   uint64
	sites   []site
	inner   map[uint64]uint64 // where a thread continues that stands in changed code
	changed int               // sites that were changed before
	stub    region
}

func attach(ctx context.Context, o *Options) (*Result, error) {
	a := &attacher{o: o, inner: map[uint64]uint64{}, fd: noFile}
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
	start := time.Now()
	if err := p.stop(); err != nil {
		return nil, err
	}
	if err := p.checkFilters(); err != nil {
		return nil, err
	}
	r, err := a.putIn()
	if err != nil {
		if left := a.rollBack(); left != nil {
			err = fmt.Errorf("%w; undoing the changes failed: %w", err, left)
		}
		return nil, err
	}
	p.release()
	r.Stopped = time.Since(start)
	return r, nil
}

// prepare does everything that needs no stopped program.
func (a *attacher) prepare() error {
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
	if a.library, err = f.Shared(); err != nil {
		return err
	}
	frames, addr, _, _, err := f.Section(".eh_frame")
	if err != nil {
		return err
	}
	if a.rows, err = ehframe.Rows(frames, addr, f.Machine()); err != nil {
		return err
	}
	if a.fdes, err = ehframe.Read(frames, addr, f.Machine()); err != nil {
		return err
	}
	entry, err := auxiliary(a.o.PID, procmaps.AuxEntry)
	if err != nil || entry == 0 {
		return fmt.Errorf("process %d: cannot find its program in memory", a.o.PID)
	}
	a.bias = entry - a.o.Entry
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

// putIn attaches while all threads are stopped.
func (a *attacher) putIn() (*Result, error) {
	var err error
	if a.maps, err = a.awaitCaller(); err != nil {
		return nil, err
	}
	if err := a.makeHeader(); err != nil {
		return nil, fmt.Errorf("allocating memory in it: %w", err)
	}
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("loading the library into it: %w", err)
	}
	if err := a.begin(); err != nil {
		return nil, err
	}
	if err := a.placeAll(); err != nil {
		return nil, err
	}
	_, own := split(a.sites)
	r := &Result{Hooked: len(own), Changed: a.changed}
	if r.Log, err = a.logPath(); err != nil {
		return nil, err
	}
	return r, a.hook()
}

// makeHeader makes the memory through which detaching finds everything else.
func (a *attacher) makeHeader() error {
	var err error
	if a.fd, err = a.makeFile(); err != nil {
		return err
	}
	if a.header, err = a.memory(0, attachEnd); err != nil {
		return err
	}
	b := append([]byte(magic), make([]byte, offMapped-len(magic))...)
	le.PutUint64(b[offSize:], attachEnd)
	return a.write(b, a.header)
}

// memory maps new memory in the process, from the beginning of the file, which stays empty. at is 0 for any
// address.
func (a *attacher) memory(at, size uint64) (uint64, error) {
	size = (size + 4095) &^ 4095
	if size > a.room {
		// The kernel would end the program by SIGXFSZ.
		if limit := limitOf(a.pid, "Max file size"); limit < size {
			return 0, fmt.Errorf("process %d can write files of at most %d bytes (ulimit -f), but %d are needed", a.pid, limit, size)
		}
		if _, err := a.calls.syscall(syscall.SYS_FTRUNCATE, a.fd, size); err != nil {
			return 0, err
		}
		a.room = size
	}
	flags := uint64(mapPrivate)
	if at != 0 {
		flags |= mapNoReplace
	}
	got, err := a.calls.syscall(syscall.SYS_MMAP, at, size, protRW, flags, a.fd, 0)
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

// load puts the library and its data into the process.
func (a *attacher) load() error {
	var err error
	lib := a.library
	if a.image, err = a.memory(0, uint64(len(lib.Image))); err != nil {
		return err
	}
	image := slices.Clone(lib.Image)
	for _, at := range lib.Relative {
		le.PutUint64(image[at:], le.Uint64(image[at:])+a.image)
	}
	if err := a.write(image, a.image); err != nil {
		return err
	}
	code := region{}
	for _, s := range lib.Segments {
		if s.Executed {
			code = region{a.image + s.Addr, a.image + s.Addr + s.Size}
			if err := a.protect(code.lo&^4095, code.hi-code.lo&^4095, protRX); err != nil {
				return err
			}
		}
	}
	known := append(a.modules.unwind, unwindModule{lo: code.lo, hi: code.hi, rows: a.rows, bias: a.image, own: true})
	size := uint64(0)
	for _, m := range known {
		size += unwindModuleSize + uint64(len(m.rows))*unwindRowSize
	}
	for _, w := range a.o.Words {
		size += uint64(len(w)) + 1
	}
	tables, err := a.memory(0, size)
	if err != nil {
		return err
	}
	data := encodeUnwind(known, tables)
	if err := a.setWord(a.header+offUnwind, tables); err != nil {
		return err
	}
	if err := a.setWord(a.header+offModules, uint64(len(known))); err != nil {
		return err
	}
	for i, w := range a.o.Words {
		if i == maxWords-1 {
			return errors.New("too many settings")
		}
		if err := a.setWord(a.header+offWords+uint64(8*i), tables+uint64(len(data))); err != nil {
			return err
		}
		data = append(append(data, w...), 0)
	}
	if err := a.write(data, tables); err != nil {
		return err
	}
	return a.protect(tables, size, protRead)
}

// begin starts the library.
func (a *attacher) begin() error {
	stack, err := a.memory(0, callStack)
	if err != nil {
		return err
	}
	entry := a.image + a.library.Symbols["__cairn_attach_enter"]
	if err := a.calls.enter(entry, a.header, stack+callStack-64, region{a.image, a.image + uint64(len(a.library.Image))}); err != nil {
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

func (a *attacher) readHeader() (header, error) { return a.readHeaderAt(a.header) }

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
	at, err := a.word(a.header + offLogPath)
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

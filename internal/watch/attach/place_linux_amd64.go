package attach

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/instrument/detourfile"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// placeAll places the trampolines of the program, and that of its unwinder.
func (a *attacher) placeAll() error {
	hook, err := a.word(a.lib.header + offHook)
	if err != nil {
		return err
	}
	if err := a.place(a.o.Plan, a.bias, hook, true); err != nil {
		return err
	}
	if len(a.sites) == 0 {
		return errors.New("its code in memory differs from its file: nothing is hooked")
	}
	if a.unwinder.plan == nil {
		return nil
	}
	if err := a.placeUnwinder(); err != nil {
		return fmt.Errorf("its unwinder (%s): %w", a.modules.unwinder, err)
	}
	return nil
}

// planUnwinder plans a hook in the function that finds frame descriptions in the program's unwinder.
func (a *attacher) planUnwinder(maps []mapping) error {
	f, err := objfile.Open(a.modules.unwinder)
	if err != nil {
		return err
	}
	defer f.Close()
	module, err := detourfile.ReadLibrary(f)
	if err != nil {
		return err
	}
	// Under another name, as hooks that time calls are not for functions of the unwinder.
	const asked, renamed = "_Unwind_Find_FDE", "its search for frames"
	for i := range module.Functions {
		if module.Functions[i].Name == asked {
			module.Functions[i].Name = renamed
		}
	}
	plan := detour.Make(module, detour.Options{Chosen: func(name string) bool { return name == renamed }})
	if len(plan.Sites) != 1 {
		for _, r := range plan.Refused {
			if r.Reason != detour.NotChosen {
				return fmt.Errorf("%s: %s", r.Name, r.Reason)
			}
		}
		return errors.New("it has no " + asked)
	}
	a.unwinder.plan = plan
	for i := range maps {
		m := &maps[i]
		if m.Exec && pathOf(a.o.PID, m) == a.modules.unwinder {
			if b, ok := bias(f, m); ok {
				a.unwinder.bias = b
				return nil
			}
		}
	}
	return errors.New("it is not mapped")
}

// placeUnwinder places that hook. The unwinder must know the stub that hooked functions return to.
func (a *attacher) placeUnwinder() error {
	for _, r := range a.lib.fdes {
		lo, hi := r.Lo+a.lib.at, r.Hi+a.lib.at
		if a.stub.lo < lo || a.stub.lo >= hi {
			continue
		}
		var b []byte
		for _, v := range []uint64{lo, hi, r.At + a.lib.at, lo} {
			b = le.AppendUint64(b, v)
		}
		if err := a.write(b, a.lib.header+offFindLo); err != nil {
			return err
		}
		return a.place(a.unwinder.plan, a.unwinder.bias, a.lib.at+a.lib.file.Symbols["__cairn_find_fde"], false)
	}
	return errors.New("the library has no frame description of its stub")
}

// mapBlob maps memory for the trampolines of a plan near the code.
func (a *attacher) mapBlob(plan *detour.Plan, bias uint64) error {
	maps, err := readMaps(a.pid) // which has what was mapped before
	if err != nil {
		return err
	}
	size := uint64(len(plan.Blob)+4095) &^ 4095
	at, ok := unused(maps, bias+plan.Lo, bias+plan.Hi, size)
	if !ok {
		return errors.New("there is no free memory near its code")
	}
	a.blob[plan], err = a.memory(at, size)
	return err
}

// place puts the trampolines of a plan near the code, and adds its sites.
func (a *attacher) place(plan *detour.Plan, bias, hook uint64, program bool) error {
	at := a.blob[plan]
	blob := slices.Clone(plan.Blob)
	le.PutUint64(blob, hook)
	for _, f := range plan.Fixups {
		if f.Kind == detour.Address {
			le.PutUint64(blob[f.At:], bias+f.Target)
			continue
		}
		d := int64(bias + f.Target - (at + uint64(f.At) + 4))
		if d != int64(int32(d)) {
			return errors.New("it is too large: no memory is within reach of all of its code")
		}
		le.PutUint32(blob[f.At:], uint32(d))
	}
	if err := a.write(blob, at); err != nil {
		return err
	}
	for _, s := range plan.Sites {
		addr := bias + s.At
		var now [5]byte
		if err := a.read(now[:], addr); err != nil {
			return err
		}
		if now != s.Original || addr>>12 != (addr+4)>>12 { // each write must be within one page
			if program {
				a.changed++
			}
			continue
		}
		entry := at + uint64(s.Entry)
		x := site{addr: addr, original: s.Original, jump: [5]byte{0xe9}, unwinder: !program}
		le.PutUint32(x.jump[1:], uint32(entry-(addr+5)))
		a.sites = append(a.sites, x)
		for i, off := range s.Inner {
			if off != 0 {
				a.inner[addr+uint64(i)+1] = entry + uint64(off)
			}
		}
	}
	return nil
}

// hook records the changes, then moves threads out of the code and changes it, as much in each stop as the budget
// allows. In between the program is hooked in part.
func (a *attacher) hook() error {
	if err := a.write(encodeSites(a.sites), a.own.sites); err != nil {
		return err
	}
	if err := a.setWord(a.lib.header+offSites, a.own.sites); err != nil {
		return err
	}
	if err := a.setWord(a.lib.header+offSiteCount, uint64(len(a.sites))); err != nil {
		return err
	}
	unwinder, others := split(a.sites)
	jump := func(s *site) (from, to [5]byte) { return s.original, s.jump }
	if err := a.whileStopped(func() (err error) {
		if a.maps, err = a.awaitCaller(); err != nil {
			return err
		}
		for plan, at := range a.blob {
			if err := a.protect(at, uint64(len(plan.Blob)), protRX); err != nil {
				return err
			}
			if err := a.pause(); err != nil {
				return err
			}
		}
		if err := a.moveOut(); err != nil {
			return err
		}
		_, err = a.writeSites(unwinder, jump, time.Time{})
		return err
	}); err != nil {
		return err
	}
	for len(others) > 0 {
		time.Sleep(runTime)
		maps, err := readMaps(a.pid)
		if err != nil {
			return err
		}
		a.maps = maps
		if err := a.whileStopped(func() (err error) {
			if err = a.moveOut(); err == nil {
				others, err = a.writeSites(others, jump, a.halts.began.Add(stopBudget))
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// moveOut makes threads that stand after the first byte of a change, or that signals interrupted there,
// continue in the trampoline.
func (a *attacher) moveOut() error {
	for _, th := range a.threads {
		if to, ok := a.inner[th.regs.Rip]; ok {
			th.setPC(to)
		}
		err := a.interrupted(th, a.maps, func(pc, slot uint64) error {
			if to, ok := a.inner[pc]; ok {
				return a.setWord(slot, to)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if a.calls != nil {
		a.calls.restore()
		a.calls = nil
	}
	return a.settle()
}

// writeSites changes code page by page, at least one page, until a time if it is not zero. It leaves unexpected bytes
// unchanged, and returns the sites that remain.
func (p *process) writeSites(sites []site, change func(*site) (from, to [5]byte), until time.Time) ([]site, error) {
	stablesort.Func(sites, func(x, y site) int {
		if x.addr < y.addr {
			return -1
		}
		return 1
	})
	page := make([]byte, 4096)
	for i := 0; i < len(sites); {
		at := sites[i].addr &^ 4095
		if i > 0 && !until.IsZero() && time.Now().After(until) {
			return sites[i:], nil
		}
		if err := p.read(page, at); err != nil {
			return nil, err
		}
		dirty := false
		for ; i < len(sites) && sites[i].addr&^4095 == at; i++ {
			from, to := change(&sites[i])
			if code := page[sites[i].addr-at:][:5]; [5]byte(code) == from {
				copy(code, to[:])
				dirty = true
			}
		}
		if !dirty {
			continue
		}
		if err := p.write(page, at); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

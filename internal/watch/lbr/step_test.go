//go:build linux && amd64

package lbr

import (
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/sample"
)

// outsideAddress is what all addresses outside of the program's code are, here.
const outsideAddress = 1

// stepped returns the branches that a program takes, one instruction after the
// other: those that begin or end in its own code. It also returns the addresses of the
// instructions there, in order.
func stepped(t *testing.T, path string, image *Image, code *objfile.Code) (out []sample.Branch, ran []uint64) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	inside := func(a uint64) bool { return a >= image.Lo && a < image.Hi }
	place := func(a uint64) uint64 {
		if inside(a) {
			return a
		}
		return outsideAddress
	}
	var regs syscall.PtraceRegs
	for last := uint64(outsideAddress); ; {
		if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
			t.Fatal(err)
		}
		if pc := regs.Rip; inside(pc) || inside(last) {
			if taken(code, last, pc) || !inside(last) {
				out = append(out, sample.Branch{From: place(last), To: place(pc)})
			}
		}
		last = regs.Rip
		if inside(last) {
			ran = append(ran, last)
		}
		if err := syscall.PtraceSingleStep(pid); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
			t.Fatal(err)
		}
		if status.Exited() {
			return out, ran
		}
	}
}

// taken reports whether the instruction at from branched to pc.
func taken(code *objfile.Code, from, pc uint64) bool {
	for n := uint64(x86.MaxLen); n > 0; n-- {
		if b := code.Bytes(from, from+n); b != nil {
			in, err := x86.Decode(b)
			if err != nil {
				return false
			}
			switch in.Class {
			case controlflow.Call, controlflow.IndirectCall, controlflow.Jump, controlflow.IndirectJump, controlflow.Return:
				return true
			}
			return in.Relative() && pc != from+uint64(in.Len)
		}
	}
	return false
}

// TestSteps compares the records of branches with single steps: they are the same branches in
// the same order, and none is missing.
func TestSteps(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	lib := library(t)
	for _, level := range shorttest.Rows(1, "-O2", "-O0") {
		t.Run(level, func(t *testing.T) {
			path := program(t, "gcc", "steps.c", level, "-no-pie")
			file, err := objfile.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			code, err := file.Code()
			if err != nil {
				t.Fatal(err)
			}
			image := plan(t, path)
			want, ran := stepped(t, path, image, code)
			compareInstructions(t, lib, path, image, ran)
			r := record(t, lib, path, "CAIRN_LBR_EVERY=7 CAIRN_LBR_BRANCHES=1 CAIRN_LBR_DEPTH=64")
			// What runs before the runtime's own start is not in its records.
			if n := uint64(len(want)); len(r.totals) != 1 || r.totals[0].Branches > n || r.totals[0].Branches < n-200 {
				t.Fatalf("%+v, single steps find %d branches", r.totals, n)
			}
			want = want[uint64(len(want))-r.totals[0].Branches:]
			at := 0
			for i := range r.samples {
				s := r.samples[i].Branches
				for k := range s {
					if s[k].From < image.Lo || s[k].From >= image.Hi {
						s[k].From = outsideAddress
					}
					if s[k].To < image.Lo || s[k].To >= image.Hi {
						s[k].To = outsideAddress
					}
				}
				if at = find(want, s, at); at < 0 {
					t.Fatalf("the branches of sample %d of %d are not those of single steps: %#x", i, len(r.samples), s)
				}
			}
			t.Logf("%d branches, %d samples", len(want), len(r.samples))
			if len(r.samples) < len(want)/30 {
				t.Errorf("%d samples of %d branches", len(r.samples), len(want))
			}
		})
	}
}

// compareInstructions compares samples of instructions with single steps: one in so many is
// sampled, wherever it is, and the last branches before it are those of the sample.
func compareInstructions(t *testing.T, lib, path string, image *Image, ran []uint64) {
	t.Helper()
	const every = 13
	r := record(t, lib, path, "CAIRN_LBR_EVERY="+strconv.Itoa(every)+" CAIRN_LBR_DEPTH=8")
	n := int(r.totals[0].Instructions)
	if n > len(ran) || n < len(ran)-1000 || len(r.samples) != n/every {
		t.Fatalf("%d samples of %d instructions, single steps find %d", len(r.samples), n, len(ran))
	}
	ran = ran[len(ran)-n:] // what runs before the runtime's own start is not in its records
	blocks := 0
	for i := range r.samples {
		s := &r.samples[i]
		at := (i+1)*every - 1
		if s.IP != ran[at] {
			t.Fatalf("sample %d is at %#x, single steps are at %#x", i, s.IP, ran[at])
		}
		// From where the last branch went, instructions follow each other to the sample.
		if k := len(s.Branches); k > 0 && s.Branches[k-1].To >= image.Lo && s.Branches[k-1].To < image.Hi {
			for s.Branches[k-1].To != ran[at] {
				if at--; at < 0 || ran[at] >= ran[at+1] {
					t.Fatalf("sample %d at %#x is not reached from %#x", i, s.IP, s.Branches[k-1].To)
				}
			}
			blocks++
		}
	}
	if blocks < len(r.samples)/2 {
		t.Errorf("of %d samples %d have a branch before them", len(r.samples), blocks)
	}
}

// find returns where in all the branches stand that end after from, and little later.
func find[B comparable](all, branches []B, from int) int {
	for end := from + 1; end <= len(all) && end < from+64; end++ {
		if start := end - len(branches); start >= 0 && slices.Equal(all[start:end], branches) {
			return end
		}
	}
	return -1
}

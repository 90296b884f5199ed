//go:build linux && amd64

package lbr

import (
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/objfile"
	"github.com/cairnprof/cairn/internal/x86"
	"github.com/cairnprof/cairn/sample"
)

// outsideAddress is what all addresses outside of the program's code are, here.
const outsideAddress = 1

// stepped returns the branches that a program takes, one instruction after the
// other: those that begin or end in its own code.
func stepped(t *testing.T, path string, image *Image, code *objfile.Code) []sample.Branch {
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
	var out []sample.Branch
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
		if err := syscall.PtraceSingleStep(pid); err != nil {
			t.Fatal(err)
		}
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
			t.Fatal(err)
		}
		if status.Exited() {
			return out
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
			case x86.Call, x86.CallIndirect, x86.Jump, x86.JumpIndirect, x86.Return:
				return true
			}
			return in.Relative() && pc != from+uint64(in.Len)
		}
	}
	return false
}

// TestSteps holds the records of branches against single steps: they are the same
// branches in the same order, and none is left out.
func TestSteps(t *testing.T) {
	t.Parallel()
	lib := library(t)
	for _, level := range []string{"-O0", "-O2"} {
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
			want := stepped(t, path, image, code)
			r := record(t, lib, path, "CAIRN_LBR_EVERY=7 CAIRN_LBR_DEPTH=64")
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

// find returns where in all the branches stand that end after from, and little later.
func find[B comparable](all, branches []B, from int) int {
	for end := from + 1; end <= len(all) && end < from+64; end++ {
		if start := end - len(branches); start >= 0 && slices.Equal(all[start:end], branches) {
			return end
		}
	}
	return -1
}

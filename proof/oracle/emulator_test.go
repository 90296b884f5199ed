//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// emulator is a processor in software that writes down every instruction it runs, and the
// files of the system that its programs are for.
type emulator struct{ command, sysroot string }

var (
	aarch64 = emulator{"qemu-aarch64", "/usr/aarch64-linux-gnu"}
	armv7   = emulator{"qemu-arm", "/usr/arm-linux-gnueabihf"}
	armSoft = emulator{"qemu-arm", "/usr/arm-linux-gnueabi"}
)

// run runs a program on the processor, without a log.
func (e emulator) run(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	mustHave(t, e.command)
	return command(t, e.command, append([]string{"-L", e.sysroot, program}, args...)...)
}

// emulated runs a program with probes on the processor. It returns its answer, what the log has of
// it, and what the probes recorded in that same run.
func (e emulator) emulated(t *testing.T, program string, args ...string) (string, execution, []firstCall, *prof.Module) {
	t.Helper()
	raws := filepath.Join(t.TempDir(), "raws")
	m := emptyProfile(t, program)
	entries := map[uint64]bool{}
	for i := range m.Funcs {
		entries[m.Funcs[i].Addr()] = true
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	argv := append([]string{"-L", e.sysroot, "-singlestep", "-d", "exec,nochain,page", "-D", "/dev/fd/3", program}, args...)
	mustHave(t, e.command)
	cmd := command(t, e.command, argv...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	cmd.ExtraFiles = []*os.File{writer}
	w := walk{entries: entries, ran: execution{instr: map[uint64]uint64{}}, first: map[uint64]bool{}}
	if err := w.open(program); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- w.read(reader) }()
	answer := output(t, cmd)
	writer.Close()
	if err := <-failed; err != nil {
		t.Fatalf("the log of %s: %v", e.command, err)
	}
	return answer, w.ran, w.seen, profile(t, program, raws)
}

// walk follows a program, instruction by instruction.
type walk struct {
	arm     *armCode // of a program for Armv7, else nil
	code    []byte   // of the program, from address first on
	low     uint64
	exec    bool   // it is not position independent
	bias    uint64 // of its addresses in the log
	entries map[uint64]bool
	ran     execution
	first   map[uint64]bool
	seen    []firstCall
	stack   []uint64 // return addresses of the calls that are open
	last    uint64   // the instruction before, 0 outside of the program
}

// open reads the code of a program.
func (w *walk) open(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	w.exec = f.Type == elf.ET_EXEC
	if f.Machine == elf.EM_ARM {
		w.arm = newArmCode(f)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			w.low = p.Vaddr
			w.code, err = io.ReadAll(p.Open())
			return err
		}
	}
	return fmt.Errorf("%s: no code", program)
}

// read follows a log of qemu. Lines that matter: a range of addresses, of which the first is that of the
// program, and
//
//	Trace 0: 0x7f36a8000600 [flags/00000055000007d4/flags/flags] symbol
func (w *walk) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Bytes()
		rest, ok := bytes.CutPrefix(line, []byte("Trace "))
		if !ok {
			if start, _, ok := bytes.Cut(line, []byte("-")); ok && w.bias == 0 && !w.exec && isAddress(start) {
				bias, err := strconv.ParseUint(string(start), 16, 64)
				if err != nil {
					return fmt.Errorf("%q: %w", line, err)
				}
				w.bias = bias
			}
			continue
		}
		_, rest, _ = bytes.Cut(rest, []byte("/"))
		text, _, _ := bytes.Cut(rest, []byte("/"))
		pc, err := strconv.ParseUint(string(text), 16, 64)
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		w.step(pc - w.bias)
	}
	return lines.Err()
}

// isAddress reports whether text has as many digits as addresses of a machine of 64 or of 32
// bits have in a log. Those of the latter are after a line that has "start".
func isAddress(text []byte) bool { return len(text) == 16 || len(text) == 8 }

// step takes the program to an instruction.
func (w *walk) step(pc uint64) {
	before := w.last
	if w.last = pc; pc-w.low >= uint64(len(w.code)) {
		w.last = 0
		if n := len(w.stack); before != 0 && w.isReturn(before) && n > 0 && w.stack[n-1] == 0 {
			w.stack = w.stack[:n-1]
		}
		return
	}
	w.ran.instr[pc]++
	if before != 0 {
		w.transfer(before, pc)
	} else if !w.close(pc) {
		w.stack = append(w.stack, 0) // a call from outside
	}
	if w.entries[pc] && !w.first[pc] {
		w.first[pc] = true
		w.seen = append(w.seen, firstCall{Entry: pc, Return: w.returnTo(before)})
	}
}

func (w *walk) instruction(pc uint64) uint32 { return binary.LittleEndian.Uint32(w.code[pc-w.low:]) }

// transfer keeps the return addresses of open calls. What an exception leaves open goes
// with the next return to a call further out.
func (w *walk) transfer(from, to uint64) {
	if behind, call := w.isCall(from); call {
		if to != behind || w.arm == nil { // else the condition did not hold
			w.stack = append(w.stack, behind)
		}
	} else if w.isReturn(from) {
		w.close(to)
	}
}

// isReturn reports whether the instruction at an address returns.
func (w *walk) isReturn(pc uint64) bool {
	if w.arm != nil {
		return w.arm.isReturn(w.code[pc-w.low:], pc)
	}
	return isReturn(w.instruction(pc))
}

// isCall reports whether the instruction at an address is a call, and where that returns to.
func (w *walk) isCall(pc uint64) (behind uint64, ok bool) {
	if w.arm != nil {
		return w.arm.isCall(w.code[pc-w.low:], pc)
	}
	return pc + 4, isCall(w.instruction(pc))
}

// close ends the calls up to the last that returns to an address, if there is one.
func (w *walk) close(to uint64) bool {
	for n := len(w.stack); n > 0; n-- {
		if w.stack[n-1] == to {
			w.stack = w.stack[:n-1]
			return true
		}
	}
	return false
}

// isReturn reports whether an instruction is ret, retaa or retab.
func isReturn(insn uint32) bool {
	return insn&0xfffffc1f == 0xd65f0000 || insn&0xfffffbff == 0xd65f0bff
}

// isCall reports whether an instruction is bl, blr or one of its variants with a signed target.
func isCall(insn uint32) bool {
	return insn&0xfc000000 == 0x94000000 || insn&0xfffffc1f == 0xd63f0000 || insn&0xfefff800 == 0xd63f0800
}

// returnTo returns the return address at an entry that the instruction before led to, 0 if that is outside of
// the program.
func (w *walk) returnTo(before uint64) uint64 {
	if before == 0 || len(w.stack) == 0 {
		return 0
	}
	return w.stack[len(w.stack)-1]
}

package detour

import (
	"encoding/binary"
	"errors"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// Image identifies a program for Windows.
type Image struct {
	Base        uint64 // its preferred address
	Size, Stamp uint32 // bytes in memory, and the time in its header
	ID          []byte // of its CodeView record, 20 bytes
	Derived     bool   // it has no such record: ID is made from its file
	DLL         bool
}

// PlannedImage is the plan of a program or DLL for Windows, with its identity.
type PlannedImage struct {
	*Plan
	Image
}

// The file of plans for Windows, which c/coff/coff_patch.c reads. All numbers are little-endian. For each program or DLL:
//
//	"cairndpe", u32 version 2, u32 sites, fixups, blob
//	u64 base, u32 size, stamp   of the image
//	u32 functions, table        of the trampolines: how many, and where in the blob their table for the unwinder is
//	u8 id length, u8 id[20], u8 derived, u8 dll, u8 0
//	u64 length                  of all that is for this program or DLL
//	sites, fixups               as in the file of plans for Linux
//	blob, zeros up to a multiple of 8
const (
	imageMagic   = "cairndpe"
	imageVersion = 2
	imageHead    = 80
)

// EncodeImages returns the file of the plans of some programs and DLLs for Windows.
func EncodeImages(images []PlannedImage) (out []byte) {
	for _, i := range images {
		out = append(out, encodeImage(i.Plan, i.Image)...)
	}
	return out
}

func encodeImage(p *Plan, of Image) []byte {
	le := binary.LittleEndian
	blob, table := unwindable(p)
	out := le.AppendUint32([]byte(imageMagic), imageVersion)
	for _, n := range []int{len(p.Sites), len(p.Fixups), len(blob)} {
		out = le.AppendUint32(out, uint32(n))
	}
	out = le.AppendUint64(out, of.Base)
	for _, n := range []uint32{of.Size, of.Stamp, uint32(len(p.Sites)), table} {
		out = le.AppendUint32(out, n)
	}
	id := of.ID[:min(len(of.ID), maxID)]
	out = append(append(out, byte(len(id))), id...)
	out = append(out, make([]byte, imageHead-len(out))...)
	if of.Derived {
		out[imageHead-11] = 1
	}
	if of.DLL {
		out[imageHead-10] = 1
	}
	out = append(appendPlan(out, p), blob...)
	out = append(out, make([]byte, -len(out)&7)...)
	le.PutUint64(out[imageHead-8:], uint64(len(out)))
	return out
}

// Operations of unwind codes, and the bytes in front of the codes.
const (
	unwindLarge  = 1 // ALLOC_LARGE
	unwindFrame  = 3 // SET_FPREG
	unwindHead   = 4
	unwindFlags  = 3 // shift of the flags in the first byte
	unwindCaught = 3 // flags of handlers
)

// ErrUnwind is returned for unwind information of an unknown form.
var ErrUnwind = errors.New("unknown unwind information")

// UnwindHead returns the head of unwind information, with all codes, from the beginning of data. Only what moved prologues can be
// given is accepted: version 1, with known operations.
func UnwindHead(data []byte) ([]byte, error) {
	if len(data) < unwindHead || data[0]&7 != 1 || unwindHead+2*int(data[2]) > len(data) {
		return nil, ErrUnwind
	}
	head := data[:unwindHead+2*int(data[2])]
	for codes := head[unwindHead:]; len(codes) > 0; {
		n := 2 * slots(codes)
		if n == 0 || n > len(codes) {
			return nil, ErrUnwind
		}
		codes = codes[n:]
	}
	return head, nil
}

// slots returns how many pairs of bytes an operation has, 0 if it is unknown.
func slots(code []byte) int {
	n := [16]int{1, 2, 1, 1, 2, 3, 0, 0, 2, 3}[code[1]&15]
	if code[1]&15 == unwindLarge && code[1]>>4 == 1 {
		n++
	}
	return n
}

// unwindable returns the blob with unwind information of its trampolines, and where the table is: RUNTIME_FUNCTIONs with offsets
// in the blob, ascending.
func unwindable(p *Plan) (blob []byte, table uint32) {
	le := binary.LittleEndian
	blob = append(blob, p.Blob...)
	var functions []byte
	for i := range p.Sites {
		s := &p.Sites[i]
		blob = append(blob, make([]byte, -len(blob)&3)...)
		functions = le.AppendUint32(functions, s.Entry)
		functions = le.AppendUint32(functions, s.Entry+s.Size)
		functions = le.AppendUint32(functions, uint32(len(blob)))
		blob = append(blob, s.unwindInfo()...)
	}
	blob = append(blob, make([]byte, -len(blob)&3)...)
	table = uint32(len(blob))
	blob = append(blob, functions...)
	return append(blob, make([]byte, 8)...), table // behind the last fixup are 8 bytes
}

// unwindInfo returns the unwind information of a trampoline: that of its function, of the instructions that were moved. All
// of it is prologue, so that its jump is not taken for an end of the function.
func (s *Site) unwindInfo() []byte {
	out := []byte{1, byte(s.Size), 0, 0}
	for codes := s.unwind[unwindHead:]; len(codes) > 0; {
		n := 2 * slots(codes)
		for _, moved := range s.steps {
			if int(codes[0]) > moved.from {
				continue
			}
			out = append(append(out, byte(moved.to)), codes[1:n]...)
			if codes[1]&15 == unwindFrame {
				out[3] = s.unwind[3]
			}
			break
		}
		codes = codes[n:]
	}
	out[2] = byte((len(out) - unwindHead) / 2)
	return append(out, make([]byte, (len(out)-unwindHead)&2)...)
}

// handled reports whether a handler of exceptions may be meant for a fault at an offset: behind the prologue. It would not know
// the address of the copy.
func (f *function) handled(offset int) bool {
	return f.Unwind != nil && f.Unwind[0]>>unwindFlags&unwindCaught != 0 && offset >= int(f.Unwind[1])
}

const lea = 0x8d

// mayFault reports whether an instruction may cause an exception: it accesses memory, or divides.
func mayFault(i x86.Inst) bool {
	one := i.Map == x86.MapOne
	memory := i.HasModRM && i.Mod() != 3 && (!one || i.Opcode != lea)
	implied := one && (i.Opcode >= 0xa0 && i.Opcode <= 0xaf && i.Opcode&^1 != 0xa8 || i.Opcode|1 == 0xf7)
	return (memory || implied) && !i.Class.IsCall()
}

// changesStack reports whether an instruction may change the stack pointer.
func changesStack(i x86.Inst) bool {
	const rsp, push = 4, 6
	if i.Map != x86.MapOne || i.Prefix&x86.PrefixVector != 0 {
		return false
	}
	switch op := i.Opcode; {
	case op >= 0x50 && op <= 0x5f, op == 0x68, op == 0x6a, op|1 == 0x9d, op|1 == 0xc9, op == 0x8f:
		return true // push, pop, enter, leave
	case op == 0xff:
		return i.ModRM>>3&7 == push
	}
	return i.HasModRM && (i.Mod() == 3 && i.RM() == rsp || i.Opcode&^2 == 0x89 && i.Reg() == rsp || i.Opcode == lea && i.Reg() == rsp)
}

// usesReturn reports whether an instruction accesses what the stack pointer points to.
func usesReturn(i x86.Inst) bool {
	const none, rsp, indexed = 4, 4, 2
	at := i.HasModRM && i.Mod() != 3 && i.ModRM&7 == rsp && i.SIB&7 == rsp && i.Rex&1 == 0 && i.SIB>>3&7 == none && i.Rex&indexed == 0
	return at && i.Disp == 0 && i.Class == controlflow.Other && i.Prefix&x86.PrefixVector == 0 && (i.Map != x86.MapOne || i.Opcode != lea)
}

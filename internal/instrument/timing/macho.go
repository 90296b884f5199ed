package timing

import (
	"bytes"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Mode trace on macOS and iOS. The code is that of ELF (trace.go), but for the place of the thread's position: it is in the
// slot of a key of pthread, which code reads as the system's own libraries do, from the thread's block at gs or tpidrro_el0.
// (Apple, libplatform, private/os/tsd.h; package runtime of Go does so too.) A slot is 0 in a thread that has recorded nothing,
// and there is none before the runtime has started, which it does at the first event: methods +load run before all
// constructors. So the code is
//
//	        movq  __cairn_local(%rip), %r10
//	        testq %r10, %r10
//	        jz    S
//	        movq  %gs:(%r10), %r11
//	        testq %r11, %r11
//	        jz    S
//	        addw  $8, %r11w
//	        jz    S
//	        movq  %r11, %gs:(%r10)
//	B:      ...                             the event, as in trace.go
//
//	S:      call  __cairn_trace_full        which sets r11 and the slot
//	        jmp   B
//
// There are no unwind directives for it: a function's compact unwind entry describes its body only, and unwinders go by the
// frame pointer, which this code keeps.

func (t *timer) isMachO() bool { return t.Unit.Object == asm.MachO }

// unwinds reports whether inserted code has unwind directives in f.
func (t *timer) unwinds(f *asm.Fragment) bool { return f.Unwind && !t.isMachO() }

// spelled returns text of the operands of an instruction as the source has it: names with the underscore of C.
func (t *timer) spelled(in *bodyInsn, text []byte) []byte {
	if !t.isMachO() {
		return text
	}
	line := bytes.TrimSpace(t.Unit.Src[in.at:t.lineEnd(in.at)])
	for _, comment := range []string{";", "##"} {
		line, _, _ = bytes.Cut(line, []byte(comment))
	}
	return bytes.TrimSpace(bytes.TrimPrefix(line, []byte(in.word)))
}

// machOX86Place is eventPlace for x86-64.
func machOX86Place(tmp, full, back string) string {
	return loadLocal + tmp + "\n\ttestq\t" + tmp + ", " + tmp + "\n\tjz\t" + full + "\n\tmovq\t%gs:(" + tmp + "), %r11\n\ttestq\t%r11, %r11\n\tjz\t" + full +
		"\n\taddw\t$8, %r11w\n\tjz\t" + full + "\n\tmovq\t%r11, %gs:(" + tmp + ")\n" + back + ":\n"
}

// machOAArch64Place is eventPlace for AArch64. The lowest bits of the register are not a part of the address.
func machOAArch64Place(full, back string) string {
	return "\tadrp\tx16, " + timedLocal + "\n\tldr\tx16, [x16, :lo12:" + timedLocal + "]\n\tcbz\tx16, " + full +
		"\n\tmrs\tx17, tpidrro_el0\n\tand\tx17, x17, 0xfffffffffffffff8\n\tadd\tx16, x16, x17\n\tldr\tx17, [x16]\n\tcbz\tx17, " + full +
		"\n\tadd\tx17, x17, 8\n\ttst\tx17, 0xffff\n\tb.eq\t" + full + "\n\tstr\tx17, [x16]\n" + back + ":\n"
}

package timing

// Problem: the coarse clock measures a call to within one of its steps, and certainly finds only calls that
// exceed the threshold by two steps. Where microseconds matter, each call has to read a clock.
//
// Choice: the time stamp counter of the processor, in the same slot of the window:
//
//	entry:  movq  __cairn_base(%rip), %r10
//	        movl  %esp, %r11d
//	        addq  %r10, %r11
//	        movq  %rdx, %r10             an argument
//	        rdtsc
//	        shlq  $32, %rdx
//	        orq   %rdx, %rax
//	        movq  %r10, %rdx
//	        movq  %rax, (%r11)
//
//	exit:   movq  %rax, -16(%rsp)        what the function returns
//	        movq  %rdx, -40(%rsp)
//	        movq  __cairn_base(%rip), %r10
//	        movl  %esp, %r11d
//	        rdtsc
//	        shlq  $32, %rdx
//	        orq   %rdx, %rax
//	        subq  (%r10,%r11), %rax      now - stamp
//	        cmpq  -40(%r10), %rax        the shortest call of interest, in ticks
//	        movq  -16(%rsp), %rax
//	        movq  -40(%rsp), %rdx
//	        ja    S
//
// Reading the counter costs more than all the rest, so live registers are always saved in the red zone.

// exactLow is where the inline threshold is, from the window's base.
const exactLow = "-40"

// keepRDX is in the red zone, as keepRAX is.
const keepRDX = "-40(%rsp)"

const readTSC = "\trdtsc\n\tshlq\t$32, %rdx\n\torq\t%rdx, %rax\n"

// exactEntry returns the code that stamps a call with the exact clock. It may change r11, the flags, and those
// of rax and r10 that are not live.
func exactEntry(live regSet) string {
	return spill(live, false) + loadBase + "%r10\n" + loadStack +
		"\taddq\t%r10, %r11\n\tmovq\t%rdx, %r10\n" + readTSC + "\tmovq\t%r10, %rdx\n\tmovq\t%rax, (%r11)\n" +
		spill(live, true)
}

// exactExit returns the code that compares the stamp and jumps to a stub if the call was long. It changes the
// flags, and r10 and r11 unless they are in keep.
func exactExit(keep regSet, slow string) string {
	keep |= regRAX
	return spill(keep, false) + "\tmovq\t%rdx, " + keepRDX + "\n" + loadBase + "%r10\n" + loadStack + readTSC +
		"\tsubq\t(%r10,%r11), %rax\n\tcmpq\t" + exactLow + "(%r10), %rax\n" +
		"\tmovq\t" + keepRDX + ", %rdx\n" + spill(keep, true) + "\tja\t" + slow + "\n"
}

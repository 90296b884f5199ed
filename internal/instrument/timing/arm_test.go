package timing

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// armExits has a body for each way to leave a function of Armv7, and the result: the code with the names of events, or the
// reason why the function is left alone. A name that ends in +clang marks the text as clang's, +arm the Arm state.
var armExits = []struct{ name, body, want string }{
	{"bx", "bx lr", "ENTER EXIT bx lr"},
	{"pop", "push {r4, lr}; bl g; pop {r4, pc}", "ENTER push {r4, lr} bl g EXIT pop {r4, pc}"},
	{"ldr", "str lr, [sp, #-4]!; ldr pc, [sp], #4", "ENTER str lr, [sp, #-4]! EXIT ldr pc, [sp], #4"},
	{"ldm+arm", "stmfd sp!, {r4, lr}; ldmfd sp!, {r4, pc}", "ENTER stmfd sp!, {r4, lr} EXIT ldmfd sp!, {r4, pc}"},
	{"mov+arm", "mov pc, lr", "ENTER EXIT mov pc, lr"},
	{"tail call", "b g(PLT)", "ENTER TAIL b g(PLT)"},
	{"tail call of gcc", "bx r3 @ 12 [c=4 l=2] *sibcall_value_insn/0", "ENTER TAIL bx r3"},
	{"tail call+clang", "bx r3", "ENTER TAIL bx r3"},
	{"jump to a label+clang", "bx r3; .L1:; bx lr; .long .L1", RefuseIndirect},
	{"computed goto of gcc", "bx r3 @ 12 [c=4 l=2] *thumb2_indirect_jump; .L1:; bx lr", "ENTER bx r3 EXIT bx lr"},
	{"computed goto+arm+clang", "ldr r3, [r12, r3, lsl #2]; bx r3; .Ltmp5: @ Block address taken; .LBB0_1:; ldr r3, [r0], #4; bx r3; .Ltmp6: @ Block address taken; .LBB0_2:; bx r2", "ENTER ldr r3, [r12, r3, lsl #2] bx r3 ldr r3, [r0], #4 bx r3 TAIL bx r2"},
	{"computed goto with a frame+arm+clang", "push {r4, lr}; bx r3; .Ltmp5: @ Block address taken; .LBB0_1:; mov r3, r4; pop {r4, lr}; bx r3", "ENTER push {r4, lr} bx r3 mov r3, r4 pop {r4, lr} TAIL bx r3"},
	{"computed goto or tail call+arm+clang", ".Ltmp5: @ Block address taken; .LBB0_1:; ldr r3, [r0]; ldr r3, [r3, #8]; bx r3", RefuseIndirect},
	{"indirect, unknown", "bx r3 @ 12 [c=4 l=2] *unknown", RefuseIndirect},
	{"cases", "cmp r0, #2 @ 5 [c=4] *thumb2_casesi_internal; bhi .L1; tbb [pc, r0]; .L2:; .byte (.L1-.L2)/2; .byte (.L1-.L2)/2; .L1:; bx lr", "ENTER cmp r0, #2 bhi .L1 tbb [pc, r0] EXIT bx lr"},
	{"cases+arm", "cmp r0, #1; addls pc, pc, r0, asl #2; b .L1; .Lrtx3:; nop; b .L1; b .L2; .L1:; bx lr; .L2:; b g", "ENTER cmp r0, #1 addls pc, pc, r0, asl #2 b .L1 nop b .L1 b .L2 EXIT bx lr TAIL b g"},
	{"return in an IT block", "cmp r0, #0; itt ne; movne r0, #1; popne {r4, pc}; bx lr", "ENTER cmp r0, #0 itt ne movne r0, #1 bne X b X EXIT pop {r4, pc} EXIT bx lr"},
	{"bx in an IT block", "cmp r0, #0; it eq; bxeq lr; bx lr", "ENTER cmp r0, #0 it eq beq X b X EXIT bx lr EXIT bx lr"},
	{"return under a condition+arm", "cmp r0, #0; bxeq lr; ldmfdne sp!, {r4, pc}; movls pc, lr; b g", "ENTER cmp r0, #0 beq X b X EXIT bx lr bne X b X EXIT ldmfd sp!, {r4, pc} bls X b X EXIT mov pc, lr TAIL b g"},
	{"tail call under a condition", "cmp r0, #0; beq g; bx lr", "ENTER cmp r0, #0 beq X b X TAIL b g EXIT bx lr"},
	{"tail call through a register under a condition+arm", "cmp r0, #0; bxeq r3; bx lr", RefuseForm},
	{"loop", ".L1:; subs r0, #1; bne .L1; cbz r0, .L2; .L2:; bx lr", "ENTER subs r0, #1 bne .L1 cbz r0, .L2 EXIT bx lr"},
	{"no exit", "udf #0", "ENTER udf #0"},
	{"a label in front of literals+clang", "push {r4, lr}; bl g; b .L1; .L1:; .p2align 2; .LCPI0_0:; .long 5", "ENTER push {r4, lr} bl g b .L1"},
	{"elsewhere", "b .L99", RefuseElsewhere},
	{"interrupt+arm", "subs pc, lr, #4", RefuseIndirect},
	{"outlined", "b OUTLINED_FUNCTION_1", RefuseOutlined},
	{"returns twice", "push {r4, lr}; bl setjmp(PLT); pop {r4, pc}", "ENTER push {r4, lr} bl setjmp(PLT) cmp r0, #0 beq X ARRIVE EXIT pop {r4, pc}"},
	{"changes the stack", "push {r4, lr}; bl swapcontext; pop {r4, pc}", "ENTER push {r4, lr} STACK1 bl swapcontext STACK2 ARRIVE EXIT pop {r4, pc}"},
	{"leaves the stack", "push {r4, lr}; bl setcontext; pop {r4, pc}", "ENTER push {r4, lr} LEFT1 bl setcontext LEFT2 EXIT pop {r4, pc}"},
	{"changes the stack under a condition", "push {r4, lr}; cmp r0, #0; itt ne; movne r0, r1; blne swapcontext; pop {r4, pc}", "ENTER push {r4, lr} cmp r0, #0 itt ne movne r0, r1 bne X b X STACK1 bl swapcontext STACK2 ARRIVE EXIT pop {r4, pc}"},
	{"leaves the stack under a condition+arm", "stmfd sp!, {r4, lr}; cmp r0, #0; blne setcontext; blx r3; ldmfd sp!, {r4, pc}", "ENTER stmfd sp!, {r4, lr} cmp r0, #0 bne X b X LEFT1 bl setcontext LEFT2 blx r3 EXIT ldmfd sp!, {r4, pc}"},
	{"last call changes the stack", "b swapcontext(PLT)", "ENTER push {r4, lr} STACK1 bl swapcontext(PLT) STACK2 pop {r4, lr} ARRIVE EXIT bx lr TAIL b swapcontext(PLT)"},
	{"last call changes the stack under a condition", "cmp r0, #0; bne swapcontext; bx lr", "ENTER cmp r0, #0 bne X b X push {r4, lr} STACK1 bl swapcontext STACK2 pop {r4, lr} ARRIVE EXIT bx lr TAIL b swapcontext EXIT bx lr"},
	{"last call leaves the stack under a condition", "cmp r0, #0; bne setcontext; bx lr", "ENTER cmp r0, #0 bne X b X TAIL LEFT1 b setcontext EXIT bx lr"},
	{"tail call by ip+clang", "ldr ip, [r0]; bx ip", "FAR ENTER ldr ip, [r0] FAR TAIL bx ip"},
	{"nested function", "ldr r3, [ip]; bx lr", "FAR ENTER ldr r3, [ip] FAR EXIT bx lr"},
	{"calls a nested function", "mov ip, r0; b g.0", "FAR ENTER mov ip, r0 FAR TAIL b g.0"},
	{"is nested, and calls another", "b g.0", "FAR ENTER FAR TAIL b g.0"},
	{"address out of reach of adr", "b .L1; .space 5000; .L1:; bx lr", "ENTER b .L1 EXIT bx lr"},
}

// TestArmExits has a function for each row of armExits.
func TestArmExits(t *testing.T) {
	t.Parallel()
	for _, form := range armExits {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			state, end := "\t.thumb\n\t.thumb_func\n", ""
			if strings.Contains(form.name, "+arm") {
				state = "\t.arm\n"
			}
			if strings.HasSuffix(form.name, "+clang") {
				end = "\t.ident\t\"clang version 22\"\n"
			}
			src := "\t.syntax unified\n\t.arch armv7-a\n\t.text\n\t.align 2\n\t.global f\n" + state + "\t.type f, %function\nf:\n\t.fnstart\n\t" +
				strings.ReplaceAll(form.body, "; ", "\n\t") + "\n\t.fnend\n\t.size f, .-f\n" + end
			if out := checkForm(t, src, machine.Arm, form.want, armText); out != nil {
				asmtest.AssembleArm(t, form.name, out)
			}
		})
	}
}

// TestArmConditionalCalls checks that what modes spike and stacks have in front of a call under a condition is under it too: the
// routines change the flags.
func TestArmConditionalCalls(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode         prof.Mode
		callee, want string
	}{
		{prof.ModeSpike, "pthread_exit", "push {r0, lr} bl " + timedDeparts + " pop {r0, lr} bl pthread_exit"},
		{prof.ModeSpike, "swapcontext", "push {r0, lr} bl " + timedSuspends + " pop {r0, lr} bl swapcontext"},
		{prof.ModeSpike, "setcontext", "push {r0, lr} bl " + timedSuspends + " pop {r0, lr} bl setcontext"},
		{prof.ModeStacks, "abort", "push {r0, lr} mov r0, #1 bl " + treeLeave + " pop {r0, lr} bl abort"},
	} {
		src := "\t.syntax unified\n\t.arch armv7-a\n\t.text\n\t.global f\n\t.thumb\n\t.thumb_func\n\t.type f, %function\nf:\n\t.fnstart\n" +
			"\tpush\t{r4, lr}\n\tcmp\tr0, #0\n\tit\tne\n\tblne\t" + row.callee + "\n\tpop\t{r4, pc}\n\t.fnend\n\t.size f, .-f\n"
		unit, err := isa.Parse([]byte(src), machine.Arm)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := Rewrite(unit, probe.Options{Mode: row.mode})
		if got := armText(string(out)); !strings.Contains(got, "it ne bne X b X "+row.want) {
			t.Errorf("%s\nwant %s", got, row.want)
		}
		asmtest.AssembleArm(t, row.callee, out)
	}
}

// TestArmDistance has instructions that leave a function, with names that have the program counter's in them.
func TestArmDistance(t *testing.T) {
	t.Parallel()
	for leave, want := range map[string]int{"b\tswapcontext(PLT)": 0, "bne\tgrpc_end": 0, "pop\t{r4, pc}": 8, "ldr\tpc, [sp], #4": 4, "ldr\tpc, [r0]": -1} {
		n, ok := armDistance(leave)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%s: %d, want %d", leave, n, want)
		}
	}
}

// byAddress is the call of a routine by its address, behind what sets r0.
var byAddress = regexp.MustCompile(`(push \{r0, lr\} (?:adr r0, \S+|mov r0, #\d))? movw lr, #:lower16:\((\w+)-\S+ movt \S+ \S+ add lr, pc(?:, lr)? blx lr`)

// armText returns the code of a function in a line, with names for events.
func armText(out string) string {
	_, out, _ = strings.Cut(out, "\t.fnstart\n")
	out, _, _ = strings.Cut(out, "\t.fnend\n")
	var words []string
	for line := range strings.Lines(out) {
		line, _, _ = strings.Cut(line, "@")
		line = strings.Join(strings.Fields(line), " ")
		if at := strings.Index(line, ".Lcairn_x"); at > 0 && line[0] == 'b' {
			line = line[:at] + "X"
		}
		if line != "" && line[0] != '.' && !strings.HasSuffix(line, ":") {
			words = append(words, line)
		}
	}
	out = byAddress.ReplaceAllString(strings.Join(words, " "), "FAR $1 bl $2")
	for kind, name := range []string{"ENTER", "EXIT", "TAIL", "ARRIVE"} {
		digit := string(rune('0' + kind))
		out = strings.ReplaceAll(out, "push {r0, lr} adr r0, .Lcairn_x1+"+digit+" bl __cairn_trace_event pop {r0, lr}", name)
		out = strings.ReplaceAll(out, "push {r0, lr} mov r0, #"+digit+" bl __cairn_trace_stack pop {r0, lr}", "STACK"+digit)
		out = strings.ReplaceAll(out, "push {r0, lr} mov r0, #"+digit+" bl __cairn_trace_left pop {r0, lr}", "LEFT"+digit)
		far := "push {r0, lr} movw r0, #:lower16:(.Lcairn_x1+" + digit
		for {
			before, behind, ok := strings.Cut(out, far)
			if !ok {
				break
			}
			_, behind, _ = strings.Cut(behind, "pop {r0, lr}")
			out = before + name + behind
		}
	}
	return out
}

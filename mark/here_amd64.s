//go:build cairn && gc

#include "textflag.h"

// Registers: BP is the frame pointer, TLS holds g, the goroutine's descriptor.
// The stack, from here outwards:
//
//	here           no frame
//	Func, Section  BP points to its caller's BP and its return address
//	user's code    the BP that is saved there
//
// A g begins with the bounds of its stack, lo and hi. When Go moves a stack, what
// lies on it keeps its distance to hi.

// func here() (id, depth, pc uintptr)
TEXT ·here(SB),NOSPLIT|NOFRAME,$0-24
	MOVQ (TLS), AX
	MOVQ AX, id+0(FP)
	MOVQ 8(BP), DX
	MOVQ DX, pc+16(FP)
	MOVQ 8(AX), BX
	SUBQ 0(BP), BX
	MOVQ BX, depth+8(FP)
	RET

// func self() (id uintptr)
TEXT ·self(SB),NOSPLIT|NOFRAME,$0-8
	MOVQ (TLS), AX
	MOVQ AX, id+0(FP)
	RET

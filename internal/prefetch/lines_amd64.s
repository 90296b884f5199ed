//go:build gc

#include "textflag.h"

// func lines(b []byte)
TEXT ·lines(SB),NOSPLIT,$0-24
	MOVQ b_base+0(FP), AX
	MOVQ b_len+8(FP), CX
	ADDQ AX, CX       // the end
	ANDQ $~63, AX     // the first line

next:
	CMPQ AX, CX
	JCC  done
	PREFETCHT0 (AX)
	ADDQ $64, AX
	JMP  next

done:
	RET

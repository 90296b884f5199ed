//go:build gc

#include "textflag.h"

// func lines(b []byte)
TEXT ·lines(SB),NOSPLIT,$0-24
	MOVD b_base+0(FP), R0
	MOVD b_len+8(FP), R1
	ADD  R0, R1       // the end
	AND  $~63, R0     // the first line

next:
	CMP  R1, R0
	BHS  done
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	B    next

done:
	RET

// Package timing adds code to the assembly text that compilers write that times calls: modes spike, stacks and trace.
//
// They have no records: a stamp for each call is stored when it begins and compared when it ends
// (timed.go, x86code.go), 10 instructions in all. That needs information that the other modes do not need:
// every way out of a function (exits.go), the registers that are live at its entry and at its tail calls
// (live.go), and whether it has a loop, because small functions without one get no code. A body is the
// code that runs in one frame: a function with its cold fragments. Pieces that are entered by calls are bodies
// of their own. On SQLite at -O2 the code is 14 % larger, 7 % without small functions.
package timing

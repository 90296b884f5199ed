// Package arm knows the assembly of Armv7-A in both of its states, Thumb and Arm, as gcc and clang write it: which
// instructions jump, call, return and trap, which registers an instruction reads and writes, which of them are live,
// and what a text has besides instructions.
//
// Literals and tables are in the code, at a distance that their instructions know. A Reader keeps track of them: of
// the tables of tbb and tbh, of those that an addition to the program counter leads into, of the labels that must
// stay with the instruction after them, and of the state that code is for. Nearly every instruction can be
// conditional, any of them can write the program counter, and # begins a number while @ begins a comment.
package arm

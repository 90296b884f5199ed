// Package split moves blocks that never ran out of functions that did, in the assembly text that compilers write, so
// that the code that runs is dense; and it orders the others where their executions are known (arrange.go), and copies some (copies.go). It adds no
// probes. Loops that run often are fitted into lines of the cache (lines.go).
//
// # What Split moves
//
// Blocks are numbered as in the map, and a ColdProfile, which compares signatures, knows which never ran. A
// function is cut into pieces, one for each block (plan.go); cold pieces go to a section of their own,
// under the symbol f.cold. That involves:
//
//   - Control flow: a piece whose successor is no longer next to it gets a jump,
//     or the opposite condition (emit.go).
//   - Unwinding: the state at each instruction is computed from the directives,
//     and written again for both parts (cfi.go).
//   - Exceptions: each part gets its own table of call sites; landing pads stay
//     together, in either part (lsda.go).
//   - Debug information: lines follow the code, the ranges of the unit get the
//     cold parts, and other labels stay in the hot part (render.go,
//     ranges.go). Where blocks are ordered, a range is cut to its longest piece
//     in what is left of the scope around it (debug.go, scopes.go).
//   - Reach, on AArch64: conditional branches to the other part go to a jump at the
//     end of their own part, and code that must be near stays in one part, such as a
//     compressed jump table and all its targets (reach.go, aarch64.go).
//   - Linkers that fold equal code: equal code of two cold parts can have
//     different frames. A relocation without effect, R_X86_64_NONE or R_AARCH64_NONE to the hot
//     part, makes linkers fold them only together with their functions.
//
// Wrong code must never result, so a function is left as it is if it contains anything that is not known to be
// safe: an unknown directive or line, data in the code, inline assembly that refers to code around it, a label
// that is used in a computation (mention.go), a branch with a short reach, an end that falls through into
// other code. The reason is in Result.Refused.
package split

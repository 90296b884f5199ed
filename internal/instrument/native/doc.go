// Package native inserts what a mode needs into the assembly text that compilers write. Each part is a package:
//
//	asm     reads the text: functions, blocks, the flow of control
//	isa     the machines: what their instructions do
//	probe   records of which functions and blocks ran, and the map of them
//	timing  code that times calls
//	split   moves blocks that never ran; it inserts nothing
//
// isa and probe depend on asm, timing and split on these. The golden tests of all modes are here.
package native

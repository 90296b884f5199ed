package native

// Offsets from the window's base: two words below it, so that one address
// leads to all that the inserted code needs.
const (
	clockOffset = "-64"
	lowOffset   = "-60"
)

const (
	loadBase  = "\tmovq\t" + TimedBase + "(%rip), "
	loadStack = "\tmovl\t%esp, %r11d\n"
)

// entryCode returns the code that stamps a call. It may change r11, the flags,
// and of rax and r10 what is not live.
func entryCode(live regSet) string {
	switch live {
	case 0: // 18 bytes
		return loadBase + "%r10\n" + loadStack +
			"\tmovl\t" + clockOffset + "(%r10), %eax\n\tmovl\t%eax, (%r10,%r11)\n"
	case regRAX: // 20 bytes
		return stampBy("%r10", "%r10d")
	case regR10: // 18 bytes
		return stampBy("%rax", "%eax")
	}
	return "\tmovq\t%rax, -8(%rsp)\n" + stampBy("%rax", "%eax") + "\tmovq\t-8(%rsp), %rax\n" // 28 bytes
}

// stampBy stamps a call with one register and r11.
func stampBy(reg, low string) string {
	return loadBase + reg + "\n" + loadStack + "\taddq\t" + reg + ", %r11\n" +
		"\tmovl\t" + clockOffset + "(" + reg + "), " + low + "\n\tmovl\t" + low + ", (%r11)\n"
}

// exitCode returns the code that compares the stamp and goes to a stub if the
// call was long. It changes the flags, and r10 and r11 unless they are in keep.
func exitCode(keep regSet, slow string) string {
	save, restore := "", ""
	if keep.has(regR10) {
		save += "\tmovq\t%r10, -8(%rsp)\n"
		restore += "\tmovq\t-8(%rsp), %r10\n"
	}
	if keep.has(regR11) {
		save += "\tmovq\t%r11, -16(%rsp)\n"
		restore += "\tmovq\t-16(%rsp), %r11\n"
	}
	return save + loadBase + "%r10\n" + loadStack + "\tmovl\t(%r10,%r11), %r11d\n" +
		"\tsubl\t" + clockOffset + "(%r10), %r11d\n\taddl\t" + lowOffset + "(%r10), %r11d\n" +
		restore + "\tjs\t" + slow + "\n"
}

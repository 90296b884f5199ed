package timing

// Offsets from the window's base: two words below it, so that inserted code needs only one address.
const (
	clockOffset = "-64"
	lowOffset   = "-60"
)

const (
	loadBase  = "\tmovq\t" + TimedBase + "(%rip), "
	loadStack = "\tmovl\t%esp, %r11d\n"
	loadLocal = "\tmovq\t" + timedLocal + "(%rip), "
)

// Where code saves live registers: in the red zone, but not where a call puts its return address. loadBase and
// loadStack may be replaced by a call (timed_masked_x86_64.c of the runtime).
const (
	keepRAX = "-16(%rsp)"
	keepR10 = "-24(%rsp)"
	keepR11 = "-32(%rsp)"
)

// spill saves the registers of live to the red zone, or restores them.
func spill(live regSet, back bool) (out string) {
	for _, r := range []struct {
		set       regSet
		reg, slot string
	}{{regRAX, "%rax", keepRAX}, {regR10, "%r10", keepR10}, {regR11, "%r11", keepR11}} {
		switch {
		case !live.has(r.set):
		case back:
			out += "\tmovq\t" + r.slot + ", " + r.reg + "\n"
		default:
			out += "\tmovq\t" + r.reg + ", " + r.slot + "\n"
		}
	}
	return out
}

// entryCode returns the code that stamps a call. It may change r11, the flags, and those of rax and r10 that
// are not live.
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
	return spill(regRAX, false) + stampBy("%rax", "%eax") + spill(regRAX, true) // 28 bytes
}

// stampBy stamps a call with one register and r11.
func stampBy(reg, low string) string {
	return loadBase + reg + "\n" + loadStack + "\taddq\t" + reg + ", %r11\n" +
		"\tmovl\t" + clockOffset + "(" + reg + "), " + low + "\n\tmovl\t" + low + ", (%r11)\n"
}

// exitCode returns the code that compares the stamp and jumps to a stub if the call was long, after first. It
// changes the flags, and r10 and r11 unless they are in keep; first may change r11.
func exitCode(keep regSet, first, slow string) string {
	return spill(keep, false) + first + loadBase + "%r10\n" + loadStack + "\tmovl\t(%r10,%r11), %r11d\n" +
		"\tsubl\t" + clockOffset + "(%r10), %r11d\n\taddl\t" + lowOffset + "(%r10), %r11d\n" +
		spill(keep, true) + "\tjs\t" + slow + "\n"
}

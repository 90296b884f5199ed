package arm

// Address returns code of a state that sets a register to an address, relative to the label, which it defines. It does not
// change the flags.
func Address(thumb bool, reg, what, label string) string {
	ahead, add := "8", "\tadd\t"+reg+", pc, "+reg+"\n"
	if thumb {
		ahead, add = "4", "\tadd\t"+reg+", pc\n"
	}
	from := what + "-(" + label + "+" + ahead + "))\n"
	return "\tmovw\t" + reg + ", #:lower16:(" + from + "\tmovt\t" + reg + ", #:upper16:(" + from + label + ":\n" + add
}

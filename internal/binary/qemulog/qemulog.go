// Package qemulog reads the log of qemu-aarch64 of each instruction that a program runs, with
// -singlestep -d exec,cpu,nochain: the reference in tests of the readers of machine code, of
// frames and of samples.
//
//	Trace 0: 0x7f4d54000fc0 [0000000001009331/000000000041a1c4/00000001/00000201] main
//	 PC=000000000041a1c4 X00=0000000000400b34 X01=0000000000000001
//	...
//	X29=0000000000000000 X30=0000000000400b30  SP=0000005500800840
//	PSTATE=40000000 -Z-- EL0t  SVCR=00000000 --  BTYPE=0
package qemulog

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Step is the state before an instruction.
type Step struct{ PC, FP, LR, SP uint64 }

// Read calls visit with each step of a log.
func Read(r io.Reader, visit func(Step) error) error {
	var s Step
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.HasPrefix(line, "PC="):
			s.PC = number(line, "PC=")
		case strings.HasPrefix(line, "X29="):
			s.FP, s.LR, s.SP = number(line, "X29="), number(line, "X30="), number(line, "SP=")
			if err := visit(s); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// number returns the hexadecimal number after a name.
func number(line, name string) uint64 {
	_, rest, _ := strings.Cut(line, name)
	digits, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseUint(digits, 16, 64)
	return n
}

package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// target is a machine that programs are built for.
type target struct {
	name      string
	compilers []string // the first one must be there
	emulator  []string // runs the programs
	untimed   bool     // there are no modes that measure time
	uncounted bool     // blocks have no counters: there is no mode edge
	prove     bool     // objects can be proved
}

var targets = []target{
	{name: "x86-64", compilers: []string{"gcc", "clang-22"}, prove: true},
	{
		name:      "aarch64",
		compilers: []string{"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-gcc -mbranch-protection=standard", "clang-22 --target=aarch64-linux-gnu"},
		emulator:  []string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"},
	},
	{
		name:      "armv7",
		compilers: []string{"arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-gcc -marm", "clang-22 --target=armv7-linux-gnueabihf"},
		emulator:  []string{"qemu-arm", "-L", "/usr/arm-linux-gnueabihf"},
		untimed:   true,
		uncounted: true,
	},
}

// targetOf returns the target of a name, if its tools are installed.
func targetOf(name string) (*target, error) {
	i := slices.IndexFunc(targets, func(t target) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s: no such machine", name)
	}
	tg := &targets[i]
	for _, tool := range slices.Concat(strings.Fields(tg.compilers[0])[:1], tg.emulator[:min(1, len(tg.emulator))]) {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	return tg, nil
}

// available returns the compilers that are installed.
func (tg *target) available() (out []string) {
	for _, c := range tg.compilers {
		if _, err := exec.LookPath(strings.Fields(c)[0]); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// modes returns the modes that programs for the machine can be built in.
func (tg *target) modes() []mode {
	var out []mode
	for _, m := range allModes {
		switch {
		case m.timed() && tg.untimed, (m.name == "edge" || m.name == "blocks") && tg.uncounted:
			continue
		case m.records() && tg.prove:
			m.flags = append(slices.Clone(m.flags), "--prove")
		}
		out = append(out, m)
	}
	return out
}

//go:build linux && amd64

package oracle

import (
	"strconv"
	"strings"
	"testing"
)

// An xrayTruth is what a traced program records of its own run, a fact on each line.
type xrayTruth struct {
	said    string              // all of it
	calls   map[string]uint64   // "calls NAME N"
	atMost  map[string]uint64   // "atmost NAME N": some may not have been logged
	stacks  map[string]uint64   // "stack A;B;C N": calls of C from B from A
	args    map[string][]uint64 // "arg NAME V", a line for each call
	events  []string            // "event custom TEXT", "event typed TYPE TEXT"
	objects map[int]string      // "object N FILE": the number of a shared object
	newest  map[string]uint64   // "newest NAME N": calls up to number N are there, the first may not be
	longer  map[string]uint64   // "longer NAME NS": the time of all calls together is more
	shorter map[string]uint64   // "shorter NAME NS": less
	oldest  map[string]uint64   // "oldest NAME N": calls from number N are there, the last may not be
	facts   map[string]uint64   // all other lines, "FACT N"
}

func parseXRayTruth(t *testing.T, text string) *xrayTruth {
	t.Helper()
	x := &xrayTruth{
		said: text, calls: map[string]uint64{}, atMost: map[string]uint64{}, stacks: map[string]uint64{},
		args: map[string][]uint64{}, objects: map[int]string{},
		longer: map[string]uint64{}, shorter: map[string]uint64{},
		newest: map[string]uint64{}, oldest: map[string]uint64{}, facts: map[string]uint64{},
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		what, rest, _ := strings.Cut(line, " ")
		if what == "event" {
			x.events = append(x.events, rest)
			continue
		}
		name, number := "", rest
		if i := strings.LastIndexByte(rest, ' '); i >= 0 {
			name, number = rest[:i], rest[i+1:]
		}
		if what == "object" {
			n, err := strconv.Atoi(name)
			if err != nil {
				t.Fatalf("the program says %q", line)
			}
			x.objects[n] = number
			continue
		}
		value, err := strconv.ParseUint(number, 10, 64)
		if err != nil && what == "arg" {
			var signed int64
			signed, err = strconv.ParseInt(number, 10, 64)
			value = uint64(signed)
		}
		if err != nil {
			t.Fatalf("the program says %q: %v", line, err)
		}
		switch what {
		case "calls": // several processes add up
			x.calls[name] += value
		case "atmost":
			x.atMost[name] += value
		case "stack":
			x.stacks[name] += value
		case "arg":
			x.args[name] = append(x.args[name], value)
		case "newest":
			x.newest[name] = value
		case "longer":
			x.longer[name] = value
		case "shorter":
			x.shorter[name] = value
		case "oldest":
			x.oldest[name] = value
		default:
			x.facts[what] += value
		}
	}
	if len(x.calls)+len(x.newest)+len(x.oldest) == 0 && text != "" {
		t.Fatalf("the program says nothing of its calls: %q", text)
	}
	return x
}

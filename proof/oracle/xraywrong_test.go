//go:build linux && amd64

package oracle

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestXRayWhereLLVMIsWrong has logs that llvm-xray 22 cannot read or counts wrong. Each test
// checks that it does, and that cairn has the counts of the program.
func TestXRayWhereLLVMIsWrong(t *testing.T) {
	t.Parallel()
	mustHave(t, llvmXRay)
	for _, test := range []struct {
		log  string
		why  string
		args []string
		// wrong reports whether the answer is wrong. Failing is.
		wrong func(t *testing.T, l *xrayLog, answer string) bool
	}{
		{"fdr-second", "blocks on both sides of a full second are put in a wrong order", []string{"account", "-f", "csv"}, nil},
		{"fdr-second", "so stacks are lost", []string{"stack", "-all-stacks", "-stack-format=flame", "-aggregation-type=count"}, nil},
		{"fdr-ring", "the oldest calls of a ring have no enters", []string{"account", "-f", "csv"}, nil},
		{"fdr-leaves", "a function that longjmp leaves has no exit", []string{"account", "-f", "csv"}, nil},
		{"fdr-exceptions", "one that an exception leaves has none either", []string{"account", "-f", "csv"}, nil},
		{"fdr-typed", "typed events are not known in maps, and cut blocks", []string{"account", "-f", "csv"}, nil},
		{"basic-fork", "what was buffered when the program forked is there twice", []string{"account", "-f", "csv"}, nil},
		{"basic-empty", "a log without a call is said to be of another version", []string{"account"}, nil},
		{"basic-args-cut", "a log whose last byte is missing is not read", []string{"account"}, nil},
		{"fdr-args-cut", "neither is this one", []string{"account"}, nil},
		{
			"fdr-live", "a block that is there twice is counted twice",
			[]string{"stack", "-all-stacks", "-stack-format=flame", "-aggregation-type=count"},
			func(t *testing.T, l *xrayLog, answer string) bool {
				return callsIn(t, answer, "leaf") == 2*l.truth.calls["leaf"]
			},
		},
		{
			"basic-recursion", "flame graphs want the time of a stack without that of its callees",
			[]string{"stack", "-all-stacks", "-stack-format=flame", "-aggregation-type=time"},
			func(t *testing.T, _ *xrayLog, answer string) bool {
				// With the time of its callees no call is shorter than one of them.
				flame := parseFlame(t, answer)
				callees := 0
				for stack, n := range flame {
					if caller, ok := flame[stack[:max(strings.LastIndexByte(stack, ';'), 0)]]; ok {
						if callees++; caller < n {
							return false
						}
					}
				}
				return callees >= 5
			},
		},
		{
			"fdr-objects", "functions of objects above 15 are counted as others, and nothing is said",
			[]string{"account", "-f", "csv"},
			func(t *testing.T, _ *xrayLog, answer string) bool {
				return parseCSV(t, answer, "function")["main"]["count"] != "1"
			},
		},
	} {
		t.Run(test.log+" "+test.args[0], func(t *testing.T) {
			t.Parallel()
			// What is checked in has the same answer every time. New logs have
			// names, which some answers are judged by.
			l := recording(t, test.log).fixture(t)
			if test.wrong != nil {
				l = recording(t, test.log).record(t)
			}
			answer, err := runLLVM(t, l, test.args...)
			wrong := err != nil
			if !wrong && test.wrong != nil {
				wrong = test.wrong(t, l, answer)
			}
			if !wrong {
				t.Errorf("llvm-xray can do it by now (%s): move the log to those that it is right of\n%s", test.why, answer)
			}
			var doc struct{ Functions []functionCost }
			decodeJSON(t, onLog(t, l, "account", "--json"), &doc)
			counts, times := map[string]uint64{}, map[string]uint64{}
			for _, f := range doc.Functions {
				counts[f.Name] += f.Calls
				times[f.Name] += f.Total
			}
			checkXRayCalls(t, l, counts, times)
		})
	}
}

// callsIn returns how often stacks that end in a function were called.
func callsIn(t *testing.T, flame, function string) uint64 {
	t.Helper()
	n := uint64(0)
	for stack, calls := range parseFlame(t, flame) {
		if strings.HasSuffix(stack, ";"+function) {
			n += calls
		}
	}
	return n
}

// TestXRayDeduced has a function that an exception leaves long before its caller returns.
// llvm-xray attributes all of that time to it.
func TestXRayDeduced(t *testing.T) {
	t.Parallel()
	l := recording(t, "fdr-late").fixture(t)
	text, err := runLLVM(t, l, "account", "-f", "csv", "-d")
	if err != nil {
		t.Fatalf("llvm-xray account: %v", err)
	}
	theirs := 0.0
	for id, f := range xrayNames(t, l) {
		if f.Name == "thrower" {
			theirs = number(t, parseCSV(t, text, "funcid")[strconv.Itoa(int(id))]["sum"]) * 1e9
		}
	}
	answer := func(args ...string) functionCost {
		var doc struct{ Functions []functionCost }
		decodeJSON(t, onLog(t, l, "account", append(args, "--json")...), &doc)
		for _, f := range doc.Functions {
			if f.Name == "thrower" {
				return f
			}
		}
		t.Fatal("there is no thrower")
		return functionCost{}
	}
	most := float64(l.truth.shorter["thrower"])
	if mine := float64(answer().Sum); mine > most || theirs < 2*most {
		t.Errorf("thrower took %.0f ns, llvm-xray has %.0f, the program less than %.0f", mine, theirs, most)
	}
	if upper := float64(answer("--upper-bound").Sum); math.Abs(upper-theirs) > 1e-6*theirs { // it prints seven digits
		t.Errorf("thrower took %.0f ns at most, llvm-xray has %.0f", upper, theirs)
	}
}

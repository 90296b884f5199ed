package toolchain

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// The steps of a build by a profile that not every linker can do.
const (
	functionsKept = "functions are not reordered"
	dataKept      = "data are not reordered"
	wholeKept     = "no function is split"
)

// keptEvent says what was not done when a module was linked, and why.
type keptEvent struct{ Module, What string }

// noteKept reports what is not done for a module: as a note, or in the summary of a build, which names it once
// for all its modules.
func noteKept(s *verb.Streams, module, what, why string) error {
	what += ": " + why
	if os.Getenv(catch.EnvLog) == "" {
		verb.Note(s, "%s", what)
		return nil
	}
	return logEvent(buildEvent{linkEvent: linkEvent{Kept: &keptEvent{cmp.Or(module, "a.out"), what}}})
}

// useSummary is the summary of cairn build --use.
type useSummary struct {
	Files   int                 `json:"files"`
	Laid    int                 `json:"laid"`    // modules that were linked in the profile's order
	Split   int                 `json:"split"`   // functions whose cold blocks were moved away
	Moved   int                 `json:"moved"`   // functions that never ran, moved away whole
	Ordered int                 `json:"ordered"` // functions whose blocks have another order
	Copied  int                 `json:"copied"`  // blocks that were copied to where control jumped to them
	Direct  int                 `json:"direct"`  // calls of libraries without the linker's stub
	Hot     int                 `json:"hot"`     // functions without cold blocks worth moving
	Stale   int                 `json:"stale"`   // functions that the profile has in another shape
	Missing int                 `json:"missing"` // functions that the profile does not have
	Refused map[string][]string `json:"refused"` // reason -> functions with cold blocks that were left

	Kept  map[string][]string `json:"kept,omitempty"`  // what was not done when linking -> modules
	Start map[string][]string `json:"start,omitempty"` // what was done for the start -> modules
}

func newUseSummary() *useSummary {
	return &useSummary{Refused: map[string][]string{}, Kept: map[string][]string{}, Start: map[string][]string{}}
}

func (u *useSummary) add(e *buildEvent) {
	switch {
	case e.Laid != "":
		u.Laid++
	case e.Kept != nil:
		u.Kept[e.Kept.What] = append(u.Kept[e.Kept.What], e.Kept.Module)
	case e.Start != nil:
		u.Start[e.Start.What] = append(u.Start[e.Start.What], e.Start.Module)
	default:
		u.addSplit(e.Split, e.Units)
	}
}

func (u *useSummary) addSplit(r *splitEvent, units int) {
	u.Files += max(1, units)
	u.Split += len(r.Split)
	u.Moved += len(r.Moved)
	u.Ordered += len(r.Ordered)
	u.Copied += r.Copied
	u.Direct += r.Direct
	u.Hot += r.Hot
	u.Stale += r.Stale
	u.Missing += r.Missing
	for _, k := range r.Refused {
		reason := strings.TrimSuffix(k.Reason, "."+k.Name) // one for all sections of functions of their own
		u.Refused[reason] = append(u.Refused[reason], k.Name)
	}
}

func (u *useSummary) print(s *verb.Streams, use *useOptions) {
	u.printBuilt(s, use)
	for _, done := range []map[string][]string{u.Start, u.Kept} {
		for _, what := range slices.Sorted(maps.Keys(done)) {
			modules := done[what]
			fmt.Fprintf(s.Err, "  %s: %s (%s)\n", what, report.Plural(len(modules), "module"), firstNames(modules))
		}
	}
}

// printBuilt prints what was done.
func (u *useSummary) printBuilt(s *verb.Streams, use *useOptions) {
	if u.Files == 0 && u.Laid == 0 {
		return
	}
	profile := use.Profile
	if u.Files == 0 {
		why := "no file was compiled: functions have another order, and their blocks stay"
		switch {
		case use.NoSplit:
			why = "no function was split"
		case use.Machine == machine.Arm.String():
			why = "no function was split: only those of x86-64 and AArch64 are"
		}
		fmt.Fprintf(s.Err, "cairn: build: laid out by %s: %s; %s\n", profile, report.Plural(u.Laid, "module"), why)
		return
	}
	fmt.Fprintf(s.Err, "cairn: build: built %s by %s: %s split, %s moved whole, %s unchanged\n",
		report.Plural(u.Files, "file"), profile, report.Plural(u.Split, "function"), report.Plural(u.Moved, "function"), report.Plural(u.Hot, "function"))
	if u.Ordered > 0 {
		fmt.Fprintf(s.Err, "  ordered: the blocks of %s, by how often they ran\n", report.Plural(u.Ordered, "function"))
	}
	if u.Copied > 0 {
		fmt.Fprintf(s.Err, "  copied: %s to where control often jumped to them\n", report.Plural(u.Copied, "block"))
	}
	if u.Direct > 0 {
		fmt.Fprintf(s.Err, "  direct: %s of standard libraries, without stubs\n", report.Plural(u.Direct, "call"))
	}
	if u.Stale > 0 {
		fmt.Fprintf(s.Err, "  stale: %s changed since the profile was taken, not split\n", report.Plural(u.Stale, "function"))
	}
	if u.Missing > 0 {
		fmt.Fprintf(s.Err, "  unknown: %s not in the profile, or without blocks in it\n", report.Plural(u.Missing, "function"))
	}
	printReasons(s, "not split", "function", u.Refused)
}

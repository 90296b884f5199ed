package pipeline

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// howCallers says of which stacks callers are certain, repaired or missing, "" if all are as
// they were recorded.
func howCallers(st *unwind.Stats) string {
	bare := st.Alone
	dropped := st.NoFrame + st.Departing
	if st.Used == 0 || st.Recovered+st.Repaired+st.Gaps+bare+st.Ended+st.Full+dropped == 0 {
		return ""
	}
	recorded := st.Used - min(st.Used, st.Recovered+st.Repaired+st.Gaps+bare+st.Ended+st.Full+st.Foreign)
	parts := []string{report.Share(recorded, st.Samples) + " with the callers that were recorded"}
	for _, x := range []struct {
		count uint64
		what  string
	}{
		{st.Recovered, "with one more, which branches show"},
		{st.Repaired, "with one more, which the code shows, as their function has no frame"},
		{st.Gaps, "with [frames missing] above a function without a frame"},
		{st.Ended, "up to an address that is no caller"},
		{st.Full, "with as many callers as the processor records, above which there may be more"},
		{bare, "without callers"},
		{st.Foreign, "without a frame in a file that is known, as in the kernel"},
		{dropped, "omitted, in functions without a frame"},
	} {
		if x.count > 0 {
			parts = append(parts, report.Share(x.count, st.Samples)+" "+x.what)
		}
	}
	return "stacks: " + strings.Join(parts, ", ")
}

// lackingTotals says how many samples lack callers, so that totals are too low, "" if it does
// not matter.
func lackingTotals(st *unwind.Stats) string {
	const how = "record with perf record --call-graph dwarf, or compile with -fno-omit-frame-pointer and record with --call-graph fp or cairn record"
	lacking := st.Gaps + st.Alone + st.Ended + st.Full
	switch {
	case st.Used == 0 || lacking < st.Used/100 || lacking == 0:
		return ""
	case st.Alone+st.Foreign == st.Used:
		return fmt.Sprintf("The samples have no callers: totals are those of functions alone, and the graph is flat (%s).", how)
	}
	return fmt.Sprintf("Callers are missing in %s of the samples: totals of functions that call others, such as main, are too low (%s).",
		report.Share(lacking, st.Used), how)
}

// noteCopies says how far the copies of stacks led. missing are files that are not here.
func (r run) noteCopies(st *unwind.Stats, missing []string) {
	sum := uint64(0)
	for _, n := range st.Copies {
		sum += n
	}
	if sum == 0 {
		return
	}
	text := "copies of stacks: " + report.Share(st.Copies[stackcopy.Whole], sum) + " unwound to the outermost frame"
	for _, x := range []struct {
		end  stackcopy.End
		what string
	}{
		{stackcopy.Short, "to the end of the copy (perf record --call-graph dwarf,65528 copies more)"},
		{stackcopy.NoTable, "to code without an unwind table"},
		{stackcopy.NoRule, "to an instruction without a rule that is supported"},
		{stackcopy.Damaged, "to a frame that cannot be one"},
	} {
		if n := st.Copies[x.end]; n > 0 {
			text += ", " + report.Share(n, sum) + " " + x.what
		}
	}
	if len(missing) > 0 {
		text += "; not on this machine, or of another build: " + strings.Join(missing, ", ")
	}
	r.Note("%s", text)
}

package pipeline

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// howCallers says of which stacks callers are certain, repaired or missing, "" if all are as
// they were recorded.
func howCallers(st *unwind.Stats) string {
	bare := st.Alone
	dropped := st.NoFrame + st.Departing
	if st.Used == 0 || st.Recovered+st.Repaired+st.Gaps+bare+st.Ended+dropped == 0 {
		return ""
	}
	recorded := st.Used - min(st.Used, st.Recovered+st.Repaired+st.Gaps+bare+st.Ended)
	parts := []string{report.Share(recorded, st.Samples) + " with the callers that were recorded"}
	for _, x := range []struct {
		count uint64
		what  string
	}{
		{st.Recovered, "with one more, which branches show"},
		{st.Repaired, "with one more, which the code shows, as their function has no frame"},
		{st.Gaps, "with [frames missing] above a function without a frame"},
		{st.Ended, "up to an address that is no caller"},
		{bare, "without callers"},
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
	const how = "compile with -fno-omit-frame-pointer and record with perf record --call-graph fp, or use cairn record --lbr"
	lacking := st.Gaps + st.Alone + st.Ended
	switch {
	case st.Used == 0 || lacking < st.Used/100 || lacking == 0:
		return ""
	case st.Alone == st.Used:
		return fmt.Sprintf("The samples have no callers: totals are those of functions alone, and the graph is flat (%s).", how)
	}
	return fmt.Sprintf("Callers are missing in %s of the samples: totals of functions that call others, such as main, are too low (%s).",
		report.Share(lacking, st.Used), how)
}

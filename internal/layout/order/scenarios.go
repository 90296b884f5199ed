package order

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/prof"
)

// CutWarning returns a line if runs had more first executions than fit: the missing ones are
// the first of all.
func CutWarning(traces []prof.Trace) []string {
	cut := slices.DeleteFunc(slices.Clone(traces), func(t prof.Trace) bool { return !t.Cut })
	if len(cut) == 0 {
		return nil
	}
	which := fmt.Sprintf("a run of scenario %s lacks its", ScenarioName(cut[0].Scenario))
	if len(cut) > 1 {
		which = fmt.Sprintf("%d runs, one of scenario %s, lack their", len(cut), ScenarioName(cut[0].Scenario))
	}
	return []string{which + " first functions: more ran than fit in the order buffer (build with larger --order-slots)"}
}

// ScenarioName is the displayed name of a scenario.
func ScenarioName(scenario string) string {
	if scenario == "" {
		return "(no name)"
	}
	return scenario
}

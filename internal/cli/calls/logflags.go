// Package calls has the commands that read logs of calls: as stacks, tables, graphs,
// databases and the formats of other viewers.
package calls

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/verb"
)

// registerLogs adds the flags of every verb that reads logs.
func registerLogs(c *cobra.Command, f *logset.Choice) {
	c.Flags().StringArrayVarP(&f.Maps, "map", "m", nil,
		"name functions of XRay by what is no program among the arguments: a directory with it, N=`FILE` for shared object N,\na YAML map, or a list of lines \"N FILE\"; repeatable")
	verb.Hide(c, "map")
	c.Flags().Var((*idList)(&f.Threads), "thread", "only threads with these `ids`")
	c.Flags().Var((*idList)(&f.PIDs), "process", "only processes with these `ids`")
	c.Flags().Var(&f.Spike, "spike", "only the calls around spike `n` of a log of spikes, not around all spikes;\n0 for the last calls of each thread")
	verb.Group(c, selectTitle, "thread", "process", "spike")
}

// registerPart adds the flags that select calls of logs.
func registerPart(c *cobra.Command, f *logset.Choice) {
	p := &f.Part
	c.Flags().Var(&p.From, "from", "omit what is before this `time`, counted from the log's first event: 1.2s, 350ms")
	c.Flags().Var(&p.To, "to", "omit what is at or after this `time`")
	c.Flags().Var(&p.Lookback, "lookback", "with --from: read only this `size` of each thread's log before it to find callers:\na log without an index opens at once, but calls that began earlier are missing")
	c.Flags().StringArrayVar(&p.Within, "within", nil, "only calls of this `function` and their callees; repeatable")
	c.Flags().Var(&p.Longer, "longer", "only calls that took this `time` or more, such as 5ms; the time of others is added to their callers")
	c.Flags().IntVar(&p.Depth, "depth", 0, "only calls at most `n` deep, counted from --within if given; 0 for all")
	verb.Rules(c, verb.Needs("lookback", "from"))
	verb.Group(c, selectTitle, "from", "to", "lookback", "within", "longer", "depth")
}

// RegisterLogs adds the flags of verbs that account time to calls.
func RegisterLogs(c *cobra.Command, f *logset.Choice) {
	registerLogs(c, f)
	registerPart(c, f)
	o := &f.Options
	c.Flags().IntVarP(&o.Workers, "jobs", "j", 0, "use `n` cores; 0 for all")
	c.Flags().BoolVar(&o.DropOpen, "drop-open", false, "omit calls that were still running when the log ended")
	c.Flags().BoolVar(&o.UpperBound, "upper-bound", false, "end calls without an exit when their caller ends, not at the last event seen in them")
	f.SetDefaults()
	c.Flags().Var((*verb.SizeFlag)(&o.Memory), "memory", "memory for stacks, a `size` such as 64MB or 2GB; beyond it the stacks with the least time are added to their callers")
	c.Flags().Var((*tailChoice)(&f.Logical), "tail-calls", "where to show tail calls: as-recorded, below the caller of the function that jumped, or logical,\nbelow that function where its code makes this certain")
	verb.Values(c, "tail-calls", logset.AsRecorded, logset.AsLogical)
	verb.Group(c, accountingTitle, "jobs", "drop-open", "upper-bound", "memory", "tail-calls")
	verb.Seldom(c, "lookback", "jobs", "drop-open", "upper-bound", "memory", "tail-calls")
}

// Titles of flags in help.
const (
	selectTitle     = "Select calls"
	accountingTitle = "How time is added up"
)

// idList is the value of a flag: numbers with commas between, added up where the
// flag is repeated.
type idList []uint32

func (l *idList) Set(text string) error {
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a number", word)
		}
		*l = append(*l, uint32(n))
	}
	return nil
}

func (*idList) Type() string { return "ids" }

func (*idList) String() string { return "" }

// tailChoice is the value of --tail-calls: whether the target of a jump is placed below the
// function that jumped.
type tailChoice bool

func (c *tailChoice) Set(text string) error {
	if text != logset.AsRecorded && text != logset.AsLogical {
		return fmt.Errorf("must be %s or %s", logset.AsRecorded, logset.AsLogical)
	}
	*c = text == logset.AsLogical
	return nil
}

func (*tailChoice) Type() string { return "how" }

func (c *tailChoice) String() string {
	if *c {
		return logset.AsLogical
	}
	return logset.AsRecorded
}

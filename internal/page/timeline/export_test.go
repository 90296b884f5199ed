package timeline

import "github.com/cairnprof/cairn/calllog"

// Small is a log for tests of the page.
func Small() *calllog.Memory { return example() }

// NewProgram is a log of a program with so many calls in each thread.
func NewProgram(calls, threads int) calllog.Log { return &program{calls, threads} }

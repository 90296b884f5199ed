package logset

import (
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/gotrace"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/report"
)

// Naming names the functions of logs.
type Naming struct {
	Funcs   calllog.Funcs
	Names   *report.Names // how symbols are displayed
	Objects tracelog.Objects
	Maps    int // number of maps that were given
	// Shown has the names that were displayed, and of marked functions those that are.
	Shown map[calllog.FuncID]string
	// Unmarked has the numbers in logs of functions that have another one, as they are displayed with a mark.
	Unmarked map[calllog.FuncID]calllog.FuncID

	goNames  gotrace.Names
	programs []codeFile
	native   bool // it has waits of native programs: not all are known
}

// otherStacks is the name of calltrie.Other.
const otherStacks = "(other stacks)"

// Symbol returns the symbol of a function, or a substitute.
func (n *Naming) Symbol(id calllog.FuncID) string {
	switch id {
	case calltrie.Other:
		return otherStacks
	case export.LeftOut:
		return export.LeftOutName
	}
	return n.Funcs.Name(id)
}

// Name returns the name to display for a function.
func (n *Naming) Name(id calllog.FuncID) string {
	text, ok := n.Shown[id]
	if !ok {
		text = n.Names.Show(n.Symbol(id))
		n.Shown[id] = text
	}
	return text
}

// Describe returns what is known of a function, with its symbol as the name, and the name to display.
func (n *Naming) Describe(id calllog.FuncID) (fn calllog.Func, shown string) {
	fn = n.Funcs[id]
	fn.Name = n.Symbol(id)
	return fn, n.Name(id)
}

// Place is where a function is declared, file:line, "" if not known.
func (n *Naming) Place(id calllog.FuncID) string {
	fn := n.Funcs[id]
	return report.SourceText(fn.File, fn.Line)
}

// WaitOf returns what the caller of a function waits for, "" if it is a function of the program.
func (n *Naming) WaitOf(id calllog.FuncID) string { return n.Funcs[id].Wait }

// PartName describes a part of the time. Waits of native programs in locks and files are not known.
func (n *Naming) PartName(p waiting.Part) string {
	if n.native && p == waiting.Processor {
		return "outside of calls that wait"
	}
	return p.String()
}

func (n *Naming) isMain(id calllog.FuncID) bool {
	return slices.Contains([]string{"main.main", "main"}, n.Funcs[id].Name)
}

// Number returns the number that logs have for a function.
func (n *Naming) Number(id calllog.FuncID) calllog.FuncID {
	if fn, ok := n.Unmarked[id]; ok {
		return fn
	}
	return id
}

package logset

import (
	"context"
	"fmt"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/instrument/timing"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/verb"
)

// AsRecorded and AsLogical are the values of --tail-calls.
const AsRecorded, AsLogical = "as-recorded", "logical"

// tailPlaces is where tail calls are placed.
type tailPlaces struct {
	logical bool                              // below the function that jumped
	found   *account.TailCalls                // nil until they are needed
	marks   map[calllog.FuncID]calllog.FuncID // the numbers of marked functions
}

// codeFile is a program whose functions logs have.
type codeFile struct {
	path  string
	funcs calllog.Funcs
}

// WithTails adds to options how tail calls are placed, if requested. The code and the logs are
// analysed once.
func (t *Set) WithTails(ctx context.Context, opt account.Options) (account.Options, error) {
	if !t.tails.logical {
		return opt, nil
	}
	if t.tails.found == nil {
		tails := &account.TailCalls{Told: true}
		for _, log := range t.Logs {
			told, whole, err := hasTailExits(ctx, log)
			if err != nil {
				return opt, err
			}
			if !whole {
				verb.Note(t.Streams, "%s: few calls are below a microsecond, so short calls may be missing: no tail call is certain, and all are shown as recorded (XRay records all calls with func_duration_threshold_us=0)", log.Info().File)
				t.tails.logical = false
				return opt, nil
			}
			tails.Told = tails.Told && told
		}
		code, err := t.functionsOfCode()
		if err != nil {
			return opt, err
		}
		tails.Code, t.tails.found = code, tails
	}
	opt.TailCalls = t.tails.found
	return opt, nil
}

// hasTailExits reports whether a log has tail exits as such, and calls of any length.
func hasTailExits(ctx context.Context, log calllog.Log) (told, whole bool, err error) {
	all := log
	for {
		l, ok := log.(interface{ Unwrap() calllog.Log })
		if !ok {
			break
		}
		log = l.Unwrap()
	}
	switch l := log.(type) {
	case *tracelog.Events:
		return true, true, nil
	case *xray.Log:
		whole, err = account.Unfiltered(ctx, all)
		return l.About().FDR || l.About().Version > 1, whole, err
	}
	return false, false, verb.Usagef("--tail-calls=%s: %s is not a log of XRay or mode trace", AsLogical, log.Info().File)
}

// functionsOfCode reads the code of the logs' programs.
func (t *Set) functionsOfCode() (*tailcall.Functions, error) {
	if len(t.programs) == 0 {
		return nil, verb.Usagef("--tail-calls=%s needs the code of the program: give it as well", AsLogical)
	}
	var programs []*objfile.Program
	var pointed [][]uint64
	for _, file := range t.programs {
		p, addrs, err := readCode(file.path)
		if err != nil {
			return nil, fmt.Errorf("--tail-calls=%s: %w", AsLogical, err)
		}
		programs, pointed = append(programs, p), append(pointed, addrs)
	}
	code, err := machinecode.NewSet(programs...)
	if err != nil {
		return nil, err
	}
	var recorded []tailcall.Recorded
	for i, file := range t.programs {
		in, marks := tailcall.Everything, 0
		if isOwn(t.Logs[0]) {
			// Every function that logs its calls can run into a full chunk.
			in, marks = tailcall.Callers(code, i, symbolAddress(programs[i], timing.TraceFull)), 1
		}
		for id, fn := range file.funcs {
			if in.Has(fn.Addr) {
				recorded = append(recorded, tailcall.Recorded{ID: id, Binary: i, Entry: fn.Addr, Marks: marks})
			}
		}
	}
	return tailcall.NewFunctions(code, recorded, pointed), nil
}

// readCode reads a program whose functions are its symbols, and the addresses that are
// in its data.
func readCode(path string) (*objfile.Program, []uint64, error) {
	f, err := objfile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	p, err := f.Program()
	if err != nil {
		return nil, nil, err
	}
	if len(p.Symbols) == 0 {
		return nil, nil, fmt.Errorf("%s: no symbols: give the unstripped program", path)
	}
	p.Ranges, p.Probes = nil, nil
	pointed, err := f.Pointers()
	return p, pointed, err
}

func symbolAddress(p *objfile.Program, name string) uint64 {
	for i := range p.Symbols {
		if p.Symbols[i].Name == name {
			return p.Symbols[i].Addr
		}
	}
	return 0
}

// noteTails prints how many calls were placed below the function that jumped.
func (t *Set) noteTails(info *calllog.Info, st *account.Stats) {
	if !t.tails.logical {
		return
	}
	text := "no call was moved below a function that jumped to it"
	if st.TailCalls > 0 {
		text = fmt.Sprintf("%s moved below the function that jumped to it", report.Plural(int(st.TailCalls), "call"))
	}
	if st.TailsLeft > 0 {
		text += fmt.Sprintf("; %s may be tail calls as well and were not moved", report.Count(st.TailsLeft))
	}
	verb.Note(t.Streams, "%s: %s", info.File, text)
}

// MarkedGroups are groups whose functions are marked where their place was inferred.
func (t *Set) MarkedGroups(results []*account.Result, perThread bool) []Group {
	groups := t.Groups(results, perThread)
	for i := range groups {
		if t.tails.logical {
			groups[i].Trie = t.mark(groups[i].Trie)
		}
	}
	return groups
}

// mark returns a trie in which functions have another number, and with it another name,
// below the ones that jumped to them.
func (t *Set) mark(trie *calltrie.Trie) *calltrie.Trie {
	out := calltrie.New()
	where := make([]calltrie.NodeID, trie.Len())
	for id, n := range trie.Nodes() {
		fn := n.Func
		if n.Inferred > 0 {
			fn = t.marked(fn)
		}
		where[id] = out.Child(where[n.Parent], fn)
		out.Node(where[id]).Merge(&n.Stats)
	}
	return out
}

// firstMark is the first of the numbers of functions that are marked, downward. No log
// has them: they would be among the last of object 255.
const firstMark = calltrie.Other - 1<<10

func (t *Set) marked(fn calllog.FuncID) calllog.FuncID {
	id, ok := t.tails.marks[fn]
	if !ok {
		if t.tails.marks == nil {
			t.tails.marks = make(map[calllog.FuncID]calllog.FuncID)
		}
		id = firstMark - calllog.FuncID(len(t.tails.marks))
		t.tails.marks[fn] = id
		t.Unmarked[id] = fn
		known := t.Funcs[fn]
		known.Name = t.Symbol(fn)
		t.Funcs[id] = known
		t.Shown[id] = t.Name(fn) + profgen.InferredSuffix
	}
	return id
}

package logset

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/verb"
)

// accountLog accounts for a log: it replays its events, or takes the sums that a log of
// mode stacks has.
func accountLog(ctx context.Context, log calllog.Log, opt account.Options) (*account.Result, error) {
	stacks := SumsOf(log)
	if stacks == nil {
		return account.Run(ctx, log, opt)
	}
	if opt.TailCalls != nil {
		return nil, verb.Usagef("--tail-calls: not supported for logs of sums, of mode stacks or of xray-profiling")
	}
	if opt.DropOpen || opt.UpperBound {
		return nil, fmt.Errorf("%s: --drop-open and --upper-bound need single calls, and the log has only sums", log.Info().File)
	}
	wanted := make(map[uint32]bool)
	for _, t := range log.Threads() {
		wanted[t.TID] = true
	}
	res := &account.Result{}
	for i, t := range stacks.Threads() {
		if wanted[t.TID] {
			res.Threads = append(res.Threads, stackThread(t, stacks.Nodes(i)))
		}
	}
	return res, nil
}

// SumsOf returns the log of sums that log is or has threads of, or nil.
func SumsOf(log calllog.Log) calllog.Sums {
	for {
		switch l := log.(type) {
		case calllog.Sums:
			return l
		case interface{ Unwrap() calllog.Log }:
			log = l.Unwrap()
		default:
			return nil
		}
	}
}

// Single returns the logs that have single calls, not sums alone.
func (t *Set) Single() []calllog.Log {
	return slices.DeleteFunc(slices.Clone(t.Logs), func(l calllog.Log) bool { return SumsOf(l) != nil })
}

// stackThread converts a thread's nodes to the result of a replay.
func stackThread(t calllog.Thread, nodes []calllog.StackNode) account.Thread {
	out := account.Thread{Thread: t, Trie: calltrie.New()}
	callees := make([]uint64, len(nodes)) // their time, by caller
	ids := make([]calltrie.NodeID, len(nodes))
	depth := make([]int, len(nodes))
	for i, n := range nodes {
		parent := calltrie.Root
		if n.Parent >= 0 {
			parent = ids[n.Parent]
			callees[n.Parent] += n.Total
			depth[i] = depth[n.Parent]
		} else {
			out.Busy += n.Total
		}
		depth[i]++
		out.Stats.MaxDepth = max(out.Stats.MaxDepth, depth[i])
		ids[i] = out.Trie.Child(parent, n.Func)
	}
	for i, n := range nodes {
		into := &out.Trie.Node(ids[i]).Stats
		into.Calls += n.Calls
		into.Total += n.Total
		into.Max = max(into.Max, n.Longest)
		into.Self += n.Total - min(callees[i], n.Total)
		into.Deduced += n.Unwound
		into.Open += n.Open
		out.Stats.Enters += n.Calls
		out.Stats.Open += n.Open
		out.Stats.Deduced += n.Unwound
	}
	out.Stats.Exits = out.Stats.Enters - min(out.Stats.Enters, out.Stats.Open+out.Stats.Deduced)
	out.Stats.Events = out.Stats.Enters + out.Stats.Exits
	return out
}

// NeedCalls rejects logs with sums only, for commands that need single calls.
func (t *Set) NeedCalls(what string) error {
	if i := slices.IndexFunc(t.Logs, func(l calllog.Log) bool { return SumsOf(l) != nil }); i >= 0 {
		return fmt.Errorf("%s: %[2]s needs single calls, and the log has only sums", t.Logs[i].Info().File, what)
	}
	return nil
}

// Knows reports whether any of the logs has a number of calls, by its name.
func (t *Set) Knows(number string) bool {
	return slices.ContainsFunc(t.Logs, func(l calllog.Log) bool {
		s := SumsOf(l)
		if s == nil {
			return true
		}
		times, longest := s.Has()
		switch number {
		case "calls":
			return true
		case "total", "sum", "self":
			return times
		case "max":
			return longest
		}
		return false
	})
}

// Known returns the key to rank by: calls if the logs have no times for a key of time, with a
// note.
func (t *Set) Known(key string) string {
	if _, ok := account.FindKey(key); !ok || t.Knows(key) {
		return key
	}
	verb.Note(t.Streams, "the logs do not have %s: sorted by calls", key)
	return "calls"
}

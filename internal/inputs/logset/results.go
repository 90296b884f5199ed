package logset

import (
	"cmp"
	"context"
	"strconv"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/report"
)

// Account replays all logs, with progress, and prints notes about irregularities.
func (t *Set) Account(ctx context.Context, opt account.Options) ([]*account.Result, error) {
	results, err := t.run(ctx, opt)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		for j := range r.Threads {
			waiting.MarkIdle(r.Threads[j].Trie, t.WaitOf, t.isMain)
		}
		t.NoteResult(t.Logs[i].Info(), r)
	}
	t.NoteNames(results)
	return results, nil
}

func (t *Set) run(ctx context.Context, opt account.Options) ([]*account.Result, error) {
	progress, stop := t.Progress()
	defer stop()
	opt, err := t.WithTails(ctx, opt)
	if err != nil {
		return nil, err
	}
	before := int64(0) // bytes of the logs that are done
	opt.Progress = func(n int64) { progress(before + n) }
	var results []*account.Result
	all, memory := int64(0), opt.Memory
	for _, log := range t.Logs {
		all += bytesOf(log)
	}
	for _, log := range t.Logs {
		if all > 0 {
			opt.Memory = max(1, int64(float64(memory)*float64(bytesOf(log))/float64(all)))
		}
		r, err := t.Replay(ctx, log, opt)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
		before += bytesOf(log)
	}
	return results, nil
}

// Merged returns one trie of all threads of all logs. It may be that of a thread itself.
func Merged(results []*account.Result) *calltrie.Trie {
	if len(results) == 1 && len(results[0].Threads) == 1 && len(results[0].Threads[0].Starters) == 0 {
		return results[0].Threads[0].Trie
	}
	trie := calltrie.New()
	for _, r := range results {
		for i := range r.Threads {
			r.Threads[i].MergeInto(trie)
		}
	}
	return trie
}

// ThreadTrie is the trie of one thread.
type ThreadTrie struct {
	Log   *calllog.Info
	Label string // "thread 12", with its process or log where there are several
	*account.Thread
}

// perThread returns the threads of all logs.
func (t *Set) perThread(results []*account.Result) []ThreadTrie {
	pids := make(map[uint32]bool)
	for _, r := range results {
		for i := range r.Threads {
			pids[r.Threads[i].PID] = true
		}
	}
	var list []ThreadTrie
	for i, r := range results {
		info := t.Logs[i].Info()
		for j := range r.Threads {
			th := &r.Threads[j]
			label := ThreadLabel(th.Thread)
			if len(pids) > 1 {
				label += " of process " + strconv.FormatUint(uint64(th.PID), 10)
			}
			if len(results) > 1 {
				label += " in " + info.File
			}
			list = append(list, ThreadTrie{Log: info, Label: label, Thread: th})
		}
	}
	return list
}

// ThreadLabel names a thread as its log does, or by its number.
func ThreadLabel(th calllog.Thread) string {
	return cmp.Or(report.Printable(th.Name), "thread "+ThreadText(th))
}

// ThreadText names a thread of a log: "12", or "12, stack 1" for another of its stacks.
func ThreadText(th calllog.Thread) string {
	text := strconv.FormatUint(uint64(th.TID), 10)
	if th.Stack > 0 {
		text += ", stack " + strconv.FormatUint(uint64(th.Stack), 10)
	}
	return text
}

// Group is stacks that are shown together.
type Group struct {
	Label  string      // "" for the stacks of all threads
	Thread *ThreadTrie // nil for all
	Trie   *calltrie.Trie
}

// Groups returns the stacks of all threads, or of each.
func (t *Set) Groups(results []*account.Result, perThread bool) []Group {
	if !perThread {
		return []Group{{Trie: Merged(results)}}
	}
	var list []Group
	for _, th := range t.perThread(results) {
		trie := th.Trie
		if len(th.Starters) > 0 {
			trie = calltrie.New()
			th.MergeInto(trie)
		}
		list = append(list, Group{th.Label, &th, trie})
	}
	return list
}

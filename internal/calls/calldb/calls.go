package calldb

import (
	"context"
	"errors"
	"io"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/calls"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// WriteCalls replays the logs and writes every call as Parquet, with the same ids as in the database of the
// same data. The options must be those of account.Run; Progress is called with the bytes of all logs that are
// done, thread by thread. It returns the number of calls. Damage is skipped, as the results contain it.
func WriteCalls(ctx context.Context, w io.Writer, data *Data, opt account.Options) (int64, error) {
	x, err := newIndex(data.Sources)
	if err != nil {
		return 0, err
	}
	about := calls.About{Unit: x.unit}
	for _, s := range data.Sources {
		about.Logs = append(about.Logs, s.Log.Info().File)
	}
	out := calls.NewWriter(w, about, func(fn int64) string {
		_, shown := data.name(calllog.FuncID(fn))
		return shown
	})
	defer out.Abort()
	progress, done := opt.Progress, int64(0)
	opt.Progress, opt.CallsOnly = nil, true
	for i := range x.threads {
		th := &x.threads[i]
		if err := x.writeThread(ctx, out, data.Sources[th.log].Log, th, opt); err != nil {
			return 0, err
		}
		if done += th.Bytes; progress != nil {
			progress(done)
		}
	}
	if err := out.Close(); err != nil {
		return 0, err
	}
	return out.Rows(), nil
}

// writeThread writes the calls of a thread.
func (x *index) writeThread(ctx context.Context, out *calls.Writer, log calllog.Log, th *thread, opt account.Options) error {
	row := calls.Call{Log: int32(th.log + 1), Thread: int32(th.id), PID: int64(th.PID), TID: int64(th.TID)}
	replay, finder := account.NewReplay(log, th.index, opt), &stackFinder{all: x.stacks, root: th.stack[calltrie.Root]}
	outermost := th.Trie.Outermost()
	finder.begin(replay.Trie())
	for c, err := range replay.All(ctx) {
		if c == nil {
			if damage := (*calllog.Damage)(nil); errors.As(err, &damage) {
				continue
			}
			return err
		}
		stack, outer := calltrie.Root, false
		if th.Stats.Folded == 0 {
			stack = th.stack[c.Node]
			outer = outermost[c.Node]
		} else {
			// The trie of the thread has other nodes than this replay's.
			stack, outer = finder.find(c.Node).NodeID, finder.outermost(c.Node)
		}
		row.Call, row.Parent = th.call(c.ID), th.call(c.Parent)
		row.Func, row.Stack, row.Depth = int64(c.Func), int32(stack), int32(c.Depth)
		row.Start, row.Duration, row.Self = th.since(c.Start), integer(c.Duration), integer(c.Self)
		row.Outermost, row.Ended, row.Args = outer, endings[c.End], c.Args
		row.CPU = int32(c.CPU)
		if err := out.Write(&row); err != nil {
			return err
		}
	}
	return nil
}

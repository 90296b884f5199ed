package callfile

import (
	"context"
	"io"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calldb"
	"github.com/cairnprof/cairn/internal/inputs/logset"
)

// Database returns the inputs of the database and of the Parquet file of a set.
func Database(t *logset.Set, results []*account.Result) *calldb.Data {
	data := &calldb.Data{Funcs: t.Funcs, Show: t.Names.Show}
	for i, log := range t.Logs {
		data.Sources = append(data.Sources, calldb.Source{Log: log, Result: results[i], SumsOnly: logset.SumsOf(log) != nil})
	}
	return data
}

// WriteCalls writes every call as Parquet, with progress.
func WriteCalls(ctx context.Context, t *logset.Set, w io.Writer, data *calldb.Data, opt account.Options) error {
	opt, err := t.WithTails(ctx, opt)
	if err != nil {
		return err
	}
	var stop func()
	opt.Progress, stop = t.Progress()
	defer stop()
	_, err = calldb.WriteCalls(ctx, w, data, opt)
	return err
}

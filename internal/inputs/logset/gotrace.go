package logset

import (
	"os"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/gotrace"
	"github.com/cairnprof/cairn/internal/logfile"
)

// openGo opens an execution trace of Go. Its events by goroutine are kept in a temporary file
// without a name.
func (t *Set) openGo(file *logfile.File) (calllog.Log, error) {
	spool, err := os.CreateTemp("", "cairn-gotrace-")
	if err != nil {
		return nil, err
	}
	t.spools = append(t.spools, spool)
	if err := os.Remove(spool.Name()); err != nil {
		return nil, err
	}
	return gotrace.Open(file, file.Size, file.Name, &t.goNames, spool)
}

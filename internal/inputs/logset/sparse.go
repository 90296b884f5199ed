package logset

import (
	"os"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/disk"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// emptyLeast is how many empty bytes of a file are worth a note.
const emptyLeast = 1 << 20

// openEvents opens a log of mode trace. Files of older runtimes have the size of the ring from the start, most of it a
// hole. Many tools fill holes when they copy a file: a note says how to undo that.
func (t *Set) openEvents(path string, file *logfile.File) (calllog.Log, error) {
	log, err := tracelog.OpenEvents(file, file.Size, file.Name, &t.Objects)
	if err != nil {
		return nil, err
	}
	if log.Empty >= emptyLeast && onDisk(path) >= file.Size {
		verb.Note(t.Streams, "%s: %d of its %d MB are empty and take space, as it was copied without its holes: fallocate --dig-holes removes them; copy logs with cp --sparse=always or tar -S, or compress them",
			file.Name, log.Empty>>20, file.Size>>20)
	}
	return log, nil
}

// onDisk returns how many bytes a file takes on disk, 0 if that is not known.
func onDisk(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return disk.Taken(st)
}

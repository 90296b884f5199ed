package logset

import (
	"errors"
	"fmt"
	"os"

	"github.com/cairnprof/cairn/internal/binary/symbolize"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// IsLog reports whether the file at path is a log of calls.
func IsLog(path string, s *verb.Streams) bool {
	is := false
	f, err := logfile.Open(path, s.In, func(head []byte) error {
		is = isCalls(head)
		return errors.New("the rest is skipped")
	})
	if err == nil {
		f.Close()
	}
	return is
}

// HoldsLogs reports whether the path is a directory that contains logs of calls.
func HoldsLogs(path string) bool {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return false
	}
	_, err = logfile.ExpandDirs([]string{path}, "log of calls", isCalls)
	return err == nil
}

// SplitNames returns the arguments that name the functions of logs apart from the logs: programs, directories with them,
// shared objects as NUMBER=FILE, XRay's maps in YAML, and lists of objects.
func SplitNames(args []string) (logs, named []string) {
	args, named = verb.SplitBinaries(args)
	var names []string
	for _, arg := range args {
		if verb.IsDir(arg) && !hasLogs(arg) || symbolize.IsSpec(arg, isLog) {
			names = append(names, arg)
		} else {
			logs = append(logs, arg)
		}
	}
	if len(logs) == 0 {
		return names, named // the error says that they are no logs
	}
	return logs, append(named, names...)
}

// isLog reports whether a file that begins with head is a log, or any other input than names of functions.
func isLog(head []byte) bool { return kind.Of(head) != kind.Unknown }

// hasLogs reports whether there is a log of calls or spikes, or samples, below a directory.
func hasLogs(dir string) bool {
	_, err := logfile.ExpandDirs([]string{dir}, "log", func(head []byte) bool {
		switch k := kind.Of(head); k {
		case kind.PerfData, kind.PerfText, kind.Stacks:
			return true
		default:
			return k.IsCalls() || k.IsSpikes()
		}
	})
	return err == nil
}

// isCalls reports whether a file that begins with head is a log of calls.
func isCalls(head []byte) bool { return kind.Among(head, kind.Kind.IsCalls).IsCalls() }

// Expand returns the paths that args name, and of directories the logs that a command reads. If a directory has
// only other logs, the error has the kind of one.
func Expand(args []string, reads func(kind.Kind) bool) ([]string, error) {
	var other kind.Kind
	paths, err := logfile.ExpandDirs(args, "log of calls", func(head []byte) bool {
		k := kind.Among(head, func(k kind.Kind) bool { return k.IsCalls() || k.IsSpikes() })
		if k != kind.Unknown {
			other = k
		}
		return reads(k)
	})
	var none *logfile.NoneError
	if errors.As(err, &none) && other != kind.Unknown {
		return nil, fmt.Errorf("%w, but %v", err, other)
	}
	return paths, err
}

// OpenFile opens a file that should be of a kind, and returns an error with its real kind
// if it is not.
func OpenFile(s *verb.Streams, path, unlike string, reads func(kind.Kind) bool) (*logfile.File, error) {
	file, err := logfile.Open(path, s.In, func(head []byte) error {
		if k := kind.Of(head); !reads(k) {
			return fmt.Errorf("%s: it is %v", unlike, k)
		}
		return nil
	})
	if err == nil && file.Note != "" {
		verb.Note(s, "%s", file.Note)
	}
	return file, err
}

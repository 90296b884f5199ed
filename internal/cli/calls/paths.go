package calls

import (
	"errors"
	"fmt"
	"os"

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

// isCalls reports whether a file that begins with head is a log of calls.
func isCalls(head []byte) bool { return kind.Among(head, kind.Kind.IsCalls).IsCalls() }

// expandLogs returns the paths that args name, and of directories the logs that a command reads. If a directory has
// only other logs, the error has the kind of one.
func expandLogs(args []string, reads func(kind.Kind) bool) ([]string, error) {
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

// OpenLogFile opens a file that should be of a kind, and returns an error with its real kind
// if it is not.
func OpenLogFile(s *verb.Streams, path, unlike string, reads func(kind.Kind) bool) (*logfile.File, error) {
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

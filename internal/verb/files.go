package verb

import (
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/prof"
)

// ProgramFiles yields where the program may be that a log names: at its path, or in a directory of logs under its own
// name or as NAME.BUILDID.debug, which cairn go leaves there of a program that the go command removes. If it has a build
// id, every other binary in the directories follows: the name of a program for the go command is not always that of the
// process, and people rename files. Callers compare build ids.
func ProgramFiles(path, id string, dirs []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		tried := map[string]bool{}
		try := func(file string) bool {
			file = filepath.Clean(file)
			if tried[file] {
				return true
			}
			tried[file] = true
			return yield(file)
		}
		if !try(path) {
			return
		}
		if rest, ok := strings.CutPrefix(path, "Z:"); ok && filepath.Separator == '/' && !try(rest) { // Wine's name of our root
			return
		}
		suffix := "." + hex.EncodeToString([]byte(id)) + ".debug"
		for _, dir := range dirs {
			own := filepath.Join(dir, filepath.Base(path))
			if !try(own) || !try(own+suffix) {
				return
			}
		}
		if id == "" {
			return
		}
		for _, dir := range dirs {
			for _, file := range binariesIn(dir, suffix) {
				if !try(file) {
					return
				}
			}
		}
	}
}

// binariesIn returns the binaries in a directory, those whose name has the suffix first.
func binariesIn(dir, suffix string) []string {
	entries, _ := os.ReadDir(dir) // a directory that cannot be read has none
	var named, others []string
	for _, e := range entries[:min(len(entries), maxBelow)] {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if head, err := ReadHead(path); err != nil || !objfile.IsBinary(head) {
			continue
		}
		if strings.HasSuffix(path, suffix) {
			named = append(named, path)
		} else {
			others = append(others, path)
		}
	}
	return append(named, others...)
}

// ExactFiles returns a check of the number of arguments; most < 0 is any number.
func ExactFiles(verb, what string, least, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least {
			return Usagef("%s: give %s (see cairn %s -h)", verb, what, verb)
		}
		if most >= 0 && len(args) > most {
			return Usagef("%s: give %s, not %d (see cairn %s -h)", verb, what, len(args), verb)
		}
		return nil
	}
}

// ReadHead returns the first bytes of a file, which determine its kind (kind.Of). The path may be that of a part of
// a universal file, as objfile.Open accepts it.
func ReadHead(path string) ([]byte, error) {
	if IsURL(path) {
		data, err := fetch(path)
		return data[:min(len(data), logfile.HeadSize)], err
	}
	f, err := os.Open(objfile.PlainPath(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, logfile.HeadSize)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return head[:n], nil
}

// maxFile bounds the files that are read as a whole.
const maxFile = 1 << 30

// Note prints a remark that is not an error. It replaces a progress line, which appears again below it.
func Note(s *Streams, format string, args ...any) {
	clear := ""
	if progressShown.Load() {
		clear = clearLine
	}
	fmt.Fprintf(s.Remarks(), "%scairn: note: %s\n", clear, fmt.Sprintf(format, args...))
}

// ReadProfile reads the .mip file at path, which may be the URL of one that a collector has.
func ReadProfile(path string) (*prof.Profile, error) {
	p, _, err := ReadProfileData(path)
	return p, err
}

// ReadProfileData is ReadProfile, and also returns the bytes of the file.
func ReadProfileData(path string) (*prof.Profile, []byte, error) {
	if IsDir(path) {
		return nil, nil, fmt.Errorf("%s is a directory: merge the runs in it into a profile first (cairn merge -o app.mip %s)", path, path)
	}
	data, err := ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	switch k := kind.Of(data); k {
	case kind.Raw, kind.Pack:
		return nil, nil, fmt.Errorf("%s is %v: merge it into a profile first (cairn merge -h)", path, k)
	case kind.Map:
		return nil, nil, fmt.Errorf("%s is a map: create a profile from it first (cairn create -h)", path)
	case kind.Binary:
		return nil, nil, fmt.Errorf("%s is a binary: give the profile of its runs (cairn merge -h)", path)
	case kind.Profile:
	default:
		return nil, nil, fmt.Errorf("%s: not a profile: it is %v", path, k)
	}
	p, err := mip.ReadProfile(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, data, nil
}

// ReadFile reads a regular file, or one of a collector's, of at most maxFile bytes.
func ReadFile(path string) ([]byte, error) {
	if IsURL(path) {
		return fetch(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	return data, err
}

// IsStream reports whether path can be read only once, so that looking at its beginning would lose that.
func IsStream(path string) bool {
	if IsURL(path) {
		return false
	}
	st, err := os.Stat(path)
	return path == logfile.Stdin || err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

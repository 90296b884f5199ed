package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/format/udiff"
	"github.com/cairnprof/cairn/internal/verb"
)

// Changes returns the changes since a revision of git, or of a diff, and a description.
func Changes(ctx context.Context, s *verb.Streams, diff string) (base string, files []udiff.File, err error) {
	if diff == "-" {
		files, err = readDiff(s.In, "standard input")
		return "standard input", files, err
	}
	if _, err := git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", diff+"^{commit}"); err != nil {
		if st, statErr := os.Stat(diff); statErr == nil && st.Mode().IsRegular() {
			f, err := os.Open(diff)
			if err != nil {
				return "", nil, err
			}
			defer f.Close()
			files, err = readDiff(f, diff)
			return diff, files, err
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", nil, fmt.Errorf("--diff %s: git is not installed: give a unified diff, as a file or - for standard input", diff)
		}
		return "", nil, fmt.Errorf("--diff %s: neither a revision of git here (in a shallow clone, fetch it first) nor a file", diff)
	}
	from, err := git(ctx, "merge-base", diff, "HEAD")
	if err != nil {
		verb.Note(s, "%s and HEAD have no common ancestor here, perhaps as the clone is shallow: comparing with %[1]s itself", diff)
		from = []byte(diff)
	}
	text, err := git(ctx, "-c", "core.quotePath=true", "diff", "-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/",
		"--find-renames", strings.TrimSpace(string(from)), "--")
	if err != nil {
		return "", nil, fmt.Errorf("git diff: %w", err)
	}
	files, err = udiff.Read(bytes.NewReader(text))
	if err != nil {
		return "", nil, fmt.Errorf("git diff: %w", err)
	}
	return diff, files, nil
}

func readDiff(r io.Reader, name string) ([]udiff.File, error) {
	in := &countingReader{r: r}
	files, err := udiff.Read(in)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(files) == 0 && in.n > 0:
		return nil, fmt.Errorf("%s: not a unified diff (diff -u, git diff)", name)
	}
	return files, nil
}

// countingReader counts the bytes read: an empty diff has no changes.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// git returns the output of a command of git. Its error has git's message.
func git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return nil, errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// WorkTree returns the top of git's work tree, under the names that the working directory has with
// and without symbolic links; without one, the working directory. Bazel's compilers call it /proc/self/cwd.
func WorkTree() (tops []string) {
	here, err := os.Getwd()
	if err != nil {
		return nil
	}
	prefix, err := git(context.Background(), "rev-parse", "--show-prefix")
	if err == nil {
		for range strings.Count(string(prefix), "/") {
			here = filepath.Dir(here)
		}
	}
	tops = append(tops, filepath.ToSlash(here)) // as the names of source files
	if real, err := filepath.EvalSymlinks(here); err == nil && real != here {
		tops = append(tops, filepath.ToSlash(real))
	}
	return append(tops, "/proc/self/cwd")
}

// Relative returns path relative to the first of the directories that it is below.
func Relative(path string, tops []string) string {
	for _, top := range tops {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(top, "/")+"/"); ok {
			return rest
		}
	}
	return path
}

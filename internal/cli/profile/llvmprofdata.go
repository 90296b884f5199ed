package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/verb"
)

// profdataArgs convert a profile to text with all of its traces: by default LLVM truncates
// them at 10000 functions.
var profdataArgs = []string{"merge", "--text", "--temporal-profile-max-trace-length=100000000", "--temporal-profile-trace-reservoir-size=1000000"}

// The versions of llvm-profdata that know temporal profiles, to look for.
const newestProfdata, oldestProfdata = 40, 17

// profdataText has llvm-profdata convert the profile at path to text. A tool reads the
// profiles of its own version and older ones, so all on PATH are tried, the newest first.
func profdataText(ctx context.Context, path string) ([]byte, error) {
	var tools []string
	for v := newestProfdata; v >= oldestProfdata; v-- {
		tools = appendTool(tools, fmt.Sprintf("llvm-profdata-%d", v))
	}
	tools = appendTool(tools, "llvm-profdata")
	if len(tools) == 0 {
		return nil, fmt.Errorf("%s: reading it needs llvm-profdata on PATH; or convert it elsewhere by llvm-profdata merge --text -o %s.proftext %s", path, path, path)
	}
	dir, err := os.MkdirTemp("", "cairn-")
	if err != nil {
		return nil, err
	}
	defer verb.Temporary.Add(dir)()
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "profile.proftext")
	in, err := filepath.Abs(path) // may start with a dash
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, tool := range tools {
		talk, err := exec.CommandContext(ctx, tool, append(profdataArgs, "-o", out, in)...).CombinedOutput()
		if err == nil {
			return verb.ReadFile(out)
		}
		failures = append(failures, fmt.Errorf("%s: %s", path, profdataFailure(filepath.Base(tool), err, string(talk))))
	}
	return nil, failures[0]
}

// profdataFailure returns why a tool failed: its first line, unless it crashed and printed a
// stack trace.
func profdataFailure(tool string, err error, talk string) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 {
		return fmt.Sprintf("%s crashed (%v): is the file damaged?", tool, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(talk), "\n")
	return fmt.Sprintf("%s: %v: %s", tool, err, line)
}

func appendTool(tools []string, name string) []string {
	if path, err := exec.LookPath(name); err == nil {
		return append(tools, path)
	}
	return tools
}

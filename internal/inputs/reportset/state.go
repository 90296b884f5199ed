package reportset

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/verb"
)

// askLimit is the timeout of a request to a collector.
const askLimit = 10 * time.Second

// RemoteState returns a text that changes with the content of collectors at the URLs of args.
// It is before if one does not answer: the page does not change.
func RemoteState(ctx context.Context, args []string, before string) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var b strings.Builder
	for _, arg := range args {
		if !verb.IsURL(arg) {
			continue
		}
		state, err := verb.StateOf(ctx, arg)
		if err != nil {
			return before
		}
		fmt.Fprintf(&b, "%s %s\n", arg, state)
	}
	return b.String()
}

// FilesState returns a text that changes with the files that args name.
func FilesState(args []string) string {
	var b strings.Builder
	for _, arg := range args {
		files := 0
		_ = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if files++; files > maxWalked {
				return fs.SkipAll
			}
			if st, err := d.Info(); err == nil {
				fmt.Fprintf(&b, "%s %d %d\n", path, st.Size(), st.ModTime().UnixNano())
			}
			return nil
		})
	}
	return b.String()
}

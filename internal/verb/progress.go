package verb

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

const (
	// progressDelay is the time after which progress is shown.
	progressDelay = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// clearLine erases the line that the cursor of a terminal is in.
const clearLine = "\r\x1b[K"

// progressShown is set while a progress line is in use: nested work shows none.
var progressShown atomic.Bool

// StartProgress prints how many of total items are done, ten times a second, if standard error is
// a terminal. The function it returns removes the line.
func StartProgress(s *Streams, what string, done *atomic.Int64, total int) (stop func()) {
	return progress(s, func(time.Duration) string { return fmt.Sprintf("%d of %d %s", done.Load(), total, what) })
}

// Working prints what the command is doing and for how long, if standard error is a terminal. It is
// for work without a known end. The function it returns removes the line.
func Working(s *Streams, format string, args ...any) (stop func()) {
	what := fmt.Sprintf(format, args...)
	return progress(s, func(d time.Duration) string { return fmt.Sprintf("%s, %d s", what, int(d.Seconds())) })
}

func progress(s *Streams, text func(time.Duration) string) (stop func()) {
	f, ok := s.Err.(*os.File)
	if s.Quiet || !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" || !progressShown.CompareAndSwap(false, true) {
		return func() {}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 2 {
		width = 80
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		showProgress(f, width-1, progressDelay, text, quit)
	}()
	return func() {
		close(quit)
		<-ended
		progressShown.Store(false)
	}
}

// showProgress rewrites a line of w until quit is closed, the first time after a delay.
func showProgress(w io.Writer, width int, delay time.Duration, text func(time.Duration) string, quit <-chan struct{}) {
	begin := time.Now()
	next := time.NewTimer(delay)
	defer next.Stop()
	shown := false
	for {
		select {
		case <-next.C:
			line := []rune(text(time.Since(begin)))
			fmt.Fprintf(w, "%s%s", clearLine, string(line[:min(len(line), width)])) // a line that wraps could not be erased
			shown = true
			next.Reset(progressEvery)
		case <-quit:
			if shown {
				fmt.Fprint(w, clearLine)
			}
			return
		}
	}
}

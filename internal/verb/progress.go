package verb

import (
	"fmt"
	"io"
	"os"
	"strings"
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

// StartProgress prints a bar, how many of total items are done, and how long the others will take, ten times a
// second, if standard error is a terminal. The function it returns removes the line.
func StartProgress(s *Streams, what string, done *atomic.Int64, total int) (stop func()) {
	return progress(s, func(d time.Duration) string { return bar(done.Load(), int64(total), d, what) })
}

// barWidth is the number of characters of a bar.
const barWidth = 20

// bar describes work of which so much is done after a time. The estimate supposes that the rest is as fast as what is
// done; before a second, or a hundredth of the work, there is none.
func bar(done, total int64, since time.Duration, what string) string {
	filled := 0
	if total > 0 {
		filled = int(min(done, total) * barWidth / total)
	}
	text := fmt.Sprintf("[%s%s] %d of %d %s", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), done, total, what)
	if since < time.Second || done < max(1, total/100) || done >= total {
		return text
	}
	left := time.Duration(float64(since) * float64(total-done) / float64(done))
	return text + ", " + remaining(left) + " left"
}

// remaining is a time that is an estimate, in two digits or so.
func remaining(d time.Duration) string {
	switch {
	case d < time.Second:
		return "less than 1 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("about %d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("about %d min", int(d.Minutes()))
	}
	return fmt.Sprintf("about %d h", int(d.Hours()))
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

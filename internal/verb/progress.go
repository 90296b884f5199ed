package verb

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// StartProgress prints how many of total items are done, ten times a second,
// if w is a terminal. The function it returns removes the line.
func StartProgress(w io.Writer, what string, done *atomic.Int64, total int) (stop func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		shown := false
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "\r\x1b[K%d of %d %s", done.Load(), total, what)
				shown = true
			case <-quit:
				if shown {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

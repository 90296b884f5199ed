//go:build cairn

package mark

import (
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairnprof/cairn/internal/spikes/marklog"
)

// off is set by CAIRN_SPIKE=off.
var off atomic.Bool

var once sync.Once

func init() {
	thresholds.global.Store(int64(10 * time.Millisecond))
	thresholds.shortest.Store(math.MaxInt64)
	clock.wake = make(chan struct{}, 1)
	if list := os.Getenv("CAIRN_CHANNELS"); list != "" {
		change("channels="+strings.ReplaceAll(strings.ReplaceAll(list, " ", ""), ",", "+"), true)
	}
	for word := range strings.SplitSeq(os.Getenv("CAIRN_SPIKE"), ",") {
		if !setting(strings.TrimSpace(word)) {
			fmt.Fprintf(os.Stderr, "cairn: CAIRN_SPIKE: %q is not understood and ignored\n", word)
		}
	}
	SetThreshold(time.Duration(thresholds.global.Load()))
	if control.wanted {
		begin()
	}
}

// setting applies a word of CAIRN_SPIKE. It accepts words that only programs in C use.
func setting(word string) bool {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "tick", "stamp", "reload", "file":
		return true
	case "stderr":
		report.stderr = true
		return value == ""
	case "control":
		control.wanted, control.path = true, value
		return true
	case "period":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Hour {
			return false
		}
		thresholds.period = int64(d)
		return true
	}
	return change(word, true)
}

// begin opens the log and starts the clock, with the first span of the process.
func begin() {
	once.Do(func() {
		dir := os.Getenv("CAIRN_DIR")
		if dir == "" {
			dir = "."
		}
		err := os.Mkdir(dir, 0o777)
		if err == nil || os.IsExist(err) {
			report.log, err = marklog.Create(dir)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "cairn: no log of spikes: %v\n", err)
			report.log = nil
		} else {
			report.shift = int64(report.log.Monotonic) - int64(report.log.Began.Sub(start))
		}
		clock.mu.Lock()
		tick(false)
		clock.mu.Unlock()
		report.update()
		go run()
		if control.wanted {
			serve()
		}
	})
}

//go:build cairn

package mark

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// control is the socket for CAIRN_SPIKE=control. A request is a line, "show", "look" or "set" and words of CAIRN_SPIKE;
// the answer is lines of a name and a value. The protocol is the same as for programs in C: package
// internal/spikes/spikecontrol of cairn is the client.
var control struct {
	wanted bool
	path   string // "": beside the log
}

const (
	maxRequest = 4096
	// requestTimeout is how long a client has for one request.
	requestTimeout = time.Second
)

// controlPath returns the path of the socket, "" if there is no place for it.
func controlPath() string {
	report.mu.Lock()
	defer report.mu.Unlock()
	switch {
	case control.path != "":
		return control.path
	case report.log == nil:
		return ""
	}
	return strings.TrimSuffix(report.log.Name(), wire.Suffix) + ".sock"
}

// reply answers a request, which is a line without its end; ok reports whether it is
// one.
func reply(request string, ok bool) string {
	words, isSet := strings.CutPrefix(request, "set ")
	if !ok || !isSet && request != "show" && request != "look" { // spans that have not ended are in no log: look shows
		return "error a request is a line, show, look or set with words\n"
	}
	if isSet {
		words, _, _ = strings.Cut(words, "#")
		list := strings.FieldsFunc(words, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' })
		if wrong := applyWords(list); wrong != "" {
			return fmt.Sprintf("error %s is invalid, or names no channel here; nothing is changed\n",
				oneLine(wrong[:min(len(wrong), 100)]))
		}
		report.update()
	}
	return describe()
}

// oneLine returns a text without line ends.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, s)
}

// describe returns the current settings and state as text.
func describe() string {
	var b strings.Builder
	program, _ := os.Executable()
	state := "on"
	if off.Load() {
		state = "off"
	}
	clock.mu.Lock()
	period := clock.period
	clock.mu.Unlock()
	report.mu.Lock()
	log := ""
	if report.log != nil {
		log = report.log.Name()
	}
	fmt.Fprintf(&b, "cairn 1\npid %d\nprogram %s\nlog %s\nstate %s\nthreshold %d\nperiod %d\nrate %d\nepisodes %d\nframe %d\n",
		os.Getpid(), oneLine(program), oneLine(filepath.Clean(log)), state, thresholds.global.Load(), period, report.rate,
		report.episodes, frames.Load())
	report.mu.Unlock()
	channels.mu.Lock()
	defer channels.mu.Unlock()
	for i, name := range channels.names {
		state := "off"
		if (Bit(1) << i).On() {
			state = "on"
		}
		fmt.Fprintf(&b, "channel %s %s\n", oneLine(name), state)
	}
	return b.String() + "end\n"
}

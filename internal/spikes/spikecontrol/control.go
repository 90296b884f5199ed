// Package spikecontrol controls running programs of mode spike through their sockets (CAIRN_SPIKE=control): it
// changes and queries their settings. The programs' side is timed_control.c of the runtime, and package mark.
//
// On Windows a program has a pipe in place of a socket: that of its process, which the name of its log has.
//
// A request is a line, "show", "look" or "set" with words of CAIRN_SPIKE; the answer is lines of a name and a value,
// the last one "end". The process at a socket is not trusted: answers are bounded in length and time.
package spikecontrol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Suffix is that of sockets beside logs.
const Suffix = ".sock"

// Status is the state of a process.
type Status struct {
	Socket    string
	PID       int
	Program   string // path
	Log       string // as the process names it, "" if it writes none
	On        bool
	Threshold time.Duration
	Period    time.Duration // of the clock
	Rate      uint64        // spikes in a second that are written
	Episodes  uint64        // spikes so far, including those that were only counted
	Frame     uint64        // number of the program's current frame
	Channels  []Channel
	Omitted   uint64 // channels for which the answer had no room
}

// Channel is a condition of marks.
type Channel struct {
	Name string
	On   bool
}

// ErrGone says that no process listens at a socket: it was killed.
var ErrGone = errors.New("its process has ended")

const (
	timeout   = 3 * time.Second // for all of one exchange
	maxAnswer = 1 << 16
)

// Show returns the state of the process at a socket.
func Show(ctx context.Context, socket string) (*Status, error) { return exchange(ctx, socket, "show") }

// Look brings the calls that have not ended in the log of the process at a socket up to date, and returns its state.
func Look(ctx context.Context, socket string) (*Status, error) { return exchange(ctx, socket, "look") }

// Set makes the process at a socket apply words of CAIRN_SPIKE, all or, if one of them is invalid, none, and
// returns the new state.
func Set(ctx context.Context, socket string, words []string) (*Status, error) {
	return exchange(ctx, socket, "set "+strings.Join(words, " "))
}

func exchange(ctx context.Context, socket, request string) (*Status, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, request+"\n"); err != nil {
		return nil, answerError(socket, err)
	}
	text, err := readAnswer(conn)
	if err != nil {
		return nil, answerError(socket, err)
	}
	st, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", socket, err)
	}
	st.Socket = socket
	return st, nil
}

// A connection is one with a process.
type connection interface {
	io.ReadWriteCloser
	SetDeadline(t time.Time) error
}

// readAnswer reads to the end of an answer. A pipe has none: its process waits until the client closes it.
func readAnswer(r io.Reader) (string, error) {
	var b strings.Builder
	for chunk := make([]byte, 4096); b.Len() < maxAnswer; {
		n, err := r.Read(chunk)
		b.Write(chunk[:n])
		text := b.String()
		switch {
		case errors.Is(err, io.EOF), strings.HasSuffix(text, "\nend\n"), strings.HasPrefix(text, "error ") && strings.HasSuffix(text, "\n"):
			return text, nil
		case err != nil:
			return "", err
		}
	}
	return b.String(), nil
}

func answerError(socket string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("no answer in time")
	}
	return fmt.Errorf("%s: %w", socket, err)
}

// Parse reads an answer.
func Parse(text string) (*Status, error) {
	if message, ok := strings.CutPrefix(text, "error "); ok {
		message, _, _ = strings.Cut(message, "\n")
		return nil, errors.New(message)
	}
	st := &Status{}
	whole := false
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name == "end" {
			whole = true
			break
		}
		if err := st.set(name, value); err != nil {
			return nil, err
		}
	}
	switch {
	case !strings.HasPrefix(text, "cairn "):
		return nil, errors.New("the program at the socket was not built with cairn")
	case !whole:
		return nil, errors.New("the answer is truncated")
	}
	return st, nil
}

// set parses a line of an answer. Unknown names are of later versions.
func (st *Status) set(name, value string) error {
	numbers := map[string]*uint64{"rate": &st.Rate, "episodes": &st.Episodes, "frame": &st.Frame, "omitted": &st.Omitted}
	durations := map[string]*time.Duration{"threshold": &st.Threshold, "period": &st.Period}
	var err error
	switch {
	case name == "cairn" && value != "1":
		return fmt.Errorf("unsupported version %s of the answer, expected 1", value)
	case name == "pid":
		st.PID, err = strconv.Atoi(value)
	case name == "program":
		st.Program = value
	case name == "log":
		st.Log = value
	case name == "state":
		st.On = value == "on"
	case name == "channel":
		channel, state, _ := strings.Cut(value, " ")
		st.Channels = append(st.Channels, Channel{channel, state == "on"})
	case numbers[name] != nil:
		*numbers[name], err = strconv.ParseUint(value, 10, 64)
	case durations[name] != nil:
		var ns int64
		ns, err = strconv.ParseInt(value, 10, 64)
		*durations[name] = time.Duration(ns)
	}
	if err != nil {
		return fmt.Errorf("invalid answer: %s %q", name, value)
	}
	return nil
}

// Package calllist prints the calls of logs one by one, in the order of time.
package calllist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Choice is which calls are printed, and how.
type Choice struct {
	logset.Choice
	verb.DisplayFlags
	Out string
}

// Write prints the calls of the logs among args.
func (f *Choice) Write(ctx context.Context, s *verb.Streams, args []string) error {
	var style report.Style // a file has no colours
	if f.Out == "-" {
		var err error
		if style, err = f.Style(s); err != nil {
			return err
		}
	}
	set, err := f.Open(s, args, f.Names())
	if err != nil {
		return err
	}
	defer set.Close()
	if err := set.NeedCalls("replay"); err != nil {
		return err
	}
	opt, err := set.WithTails(ctx, f.Options)
	if err != nil {
		return err
	}
	return verb.WriteFile(s, f.Out, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		objects := f.Objects(b)
		var results []*account.Result
		for i, log := range set.Logs {
			print, err := f.printer(b, objects, set, style, log)
			if err != nil {
				return err
			}
			for step, err := range account.ByTime(ctx, log, opt, func(r *account.Result) { results = append(results, r) }) {
				if damage := (*calllog.Damage)(nil); errors.As(err, &damage) {
					continue // it is in the result
				}
				if err == nil {
					err = print(step)
				}
				if err != nil {
					return err
				}
			}
			set.NoteResult(log.Info(), results[i])
		}
		set.NoteNames(results)
		if f.Json {
			if err := objects.Close(); err != nil {
				return err
			}
		}
		return b.Flush()
	})
}

// maxIndent is how many levels are indented: deeper calls have their depth as a number.
const maxIndent = 40

// printer returns a function that prints the steps of a log, and prints the beginning.
func (f *Choice) printer(b *bufio.Writer, objects *report.Objects, set *logset.Set, style report.Style, log calllog.Log) (func(*account.ThreadStep) error, error) {
	if f.Json {
		p, err := newJSONReplay(objects, set, log)
		if err != nil {
			return nil, err
		}
		return p.print, nil
	}
	if len(set.Logs) > 1 {
		fmt.Fprintf(b, "%s:\n", log.Info().File)
	}
	return newReplayPrinter(b, set, style, log).print, nil
}

// A replayPrinter prints the steps of a log.
type replayPrinter struct {
	w       *bufio.Writer
	set     *logset.Set
	style   report.Style
	start   uint64
	threads []replayThread
}

type replayThread struct {
	text  string // its printed text
	depth int    // of the calls that are open
	leaf  bool   // the next end is already printed
}

func newReplayPrinter(w *bufio.Writer, set *logset.Set, style report.Style, log calllog.Log) *replayPrinter {
	c := log.Info().Clock
	p := &replayPrinter{w: w, set: set, style: style, start: c.Nanoseconds(c.Start)}
	pids := make(map[uint32]bool)
	for _, th := range log.Threads() {
		pids[th.PID] = true
	}
	widest := len("thread")
	for _, th := range log.Threads() {
		text := logset.ThreadText(th)
		if len(pids) > 1 {
			text = strconv.FormatUint(uint64(th.PID), 10) + "/" + text
		}
		p.threads = append(p.threads, replayThread{text: text})
		widest = max(widest, len(text))
	}
	for i := range p.threads {
		p.threads[i].text = fmt.Sprintf("%*s", widest, p.threads[i].text)
	}
	fmt.Fprintln(w, style.Paint(report.Bold, fmt.Sprintf("%15s  %9s  %*s  call", "time", "took", widest, "thread")))
	return p
}

// time is when something was, since the log began.
func (p *replayPrinter) time(at uint64) string {
	at -= min(at, p.start)
	if p.set.Clock.Hz == 0 {
		return strconv.FormatUint(at, 10)
	}
	const second = 1e9
	return fmt.Sprintf("%d.%09d", at/second, at%second)
}

// print prints a step.
func (p *replayPrinter) print(s *account.ThreadStep) error {
	th := &p.threads[s.Thread]
	depth := s.Call.Depth - 1
	var took, text string
	switch s.What {
	case account.Begins:
		th.depth, th.leaf = s.Call.Depth, s.Leaf != nil
		if text = p.call(&s.Call); th.leaf {
			took, text = p.set.Duration(s.Leaf.Call.Duration), text+";"+p.missing(s.Leaf.Call.End)
		} else {
			text += " {"
		}
	case account.Ends:
		th.depth = depth
		if th.leaf {
			th.leaf = false
			return nil
		}
		took, text = p.set.Duration(s.Call.Duration), "} "+p.remark(p.set.Name(s.Call.Func))+p.missing(s.Call.End)
	case account.Happened:
		depth, text = th.depth, p.remark(eventText(s.Kind, s.Payload))
	}
	indent := strings.Repeat("  ", min(depth, maxIndent))
	if depth > maxIndent {
		indent += fmt.Sprintf("(%d) ", depth)
	}
	_, err := fmt.Fprintf(p.w, "%15s  %9s  %s  %s%s\n", p.time(s.At), took, th.text, indent, text)
	return err
}

// call is a call with its arguments, of which logs have the numbers.
func (p *replayPrinter) call(c *account.Call) string {
	name := p.set.Name(c.Func)
	if len(c.Args) == 0 {
		return name
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = strconv.FormatUint(a, 10)
	}
	return name + " " + p.remark("args "+strings.Join(args, ", "))
}

// remark is text that is not of the calls.
func (p *replayPrinter) remark(text string) string {
	return p.style.Paint(report.Dim, "/* "+text+" */")
}

// missing returns the text for a call without an end in the log.
func (p *replayPrinter) missing(how account.End) string {
	switch how {
	case account.Deduced:
		return " " + p.remark("no exit")
	case account.Open:
		return " " + p.remark("still running")
	}
	return ""
}

// eventText formats a custom or typed event.
func eventText(kind calllog.Kind, p *calllog.Payload) string {
	text := kind.String()
	if p == nil {
		return text
	}
	if kind == calllog.Typed {
		text += " " + strconv.Itoa(int(p.Type))
	}
	const most = 64
	data := p.Data[:min(most, len(p.Data))]
	text += ": " + strings.ReplaceAll(strconv.QuoteToASCII(string(data)), "*/", `*\/`)
	if len(p.Data) > most {
		text += fmt.Sprintf(" and %d bytes more", len(p.Data)-most)
	}
	return text
}

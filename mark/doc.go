// Package mark finds calls of a Go program that take too long, with their stacks and descriptions. A program
// marks some functions and sections:
//
//	func load(name string) {
//		s := mark.Func()
//		defer s.End()
//		s.Desc(func() string { return "file " + name })
//		...
//	}
//
// Without the build tag "cairn" all of it is empty and inlined away. With it (go build -tags cairn) each span
// is timed. One that lasts as long as its threshold, and in which none of the spans below did, is a spike: it
// is written to a log in the directory CAIRN_DIR with the stack it happened in and the times of the spans
// around it, and the callers follow when they end. `cairn spikes` shows the log; OnSpike reports it to the
// program itself. With CAIRN_SPIKE=control a process listens to `cairn watch set`, which changes thresholds and
// channels.
//
// Spans belong to the goroutine that opened them and must end on it. They nest like the calls: no context is
// passed. A span that is never ended, for instance because of a panic, is dropped when a caller's span ends or
// opens another; `defer s.End()` prevents that.
//
// The verbs are those of the PET profiler (Prolog Epilog Timing), as in cairn.h. docs/markup.md describes their
// use, and docs/rationale-time.md how a goroutine finds its spans.
package mark

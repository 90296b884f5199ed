package account

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
)

// drawThread draws the events of a thread: mostly calls that return, and all errors that real
// logs have.
func drawThread(t *rapid.T, backwards bool) *calllog.Memory {
	var parts []calllog.Part
	now := uint64(1795176873250907427)
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		p := calllog.Part{Break: rapid.Bool().Draw(t, "break")}
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			e := calllog.Event{
				Kind: rapid.SampledFrom([]calllog.Kind{
					calllog.Enter, calllog.Enter, calllog.Enter, calllog.Exit, calllog.Exit, calllog.Exit,
					calllog.TailExit, calllog.EnterArgs, calllog.Custom, calllog.Typed,
				}).Draw(t, "kind"),
				Func: calllog.FuncID(rapid.IntRange(1, 3).Draw(t, "func")),
			}
			if e.Kind > calllog.TailExit {
				p.Payloads = append(p.Payloads, calllog.Payload{Args: []uint64{now}, Data: []byte("x")})
				e.Payload = uint32(len(p.Payloads))
			}
			now += uint64(rapid.IntRange(0, 3).Draw(t, "delta"))
			e.Time = now
			if backwards && rapid.IntRange(0, 5).Draw(t, "back") == 0 {
				e.Time -= 7
			}
			p.Events = append(p.Events, e)
		}
		parts = append(parts, p)
	}
	return &calllog.Memory{
		About: calllog.Info{Clock: calllog.Clock{Hz: 1e9}},
		List:  []calllog.Thread{{PID: 1, TID: 1}}, Content: [][]calllog.Part{parts},
	}
}

// TestSteps checks that the steps are the calls that All returns, each with a begin and an end,
// nested and in time order.
func TestSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		backwards := rapid.Bool().Draw(t, "clock goes back")
		log := drawThread(t, backwards)
		opt := Options{UpperBound: rapid.Bool().Draw(t, "upper"), DropOpen: rapid.Bool().Draw(t, "drop"), depth: rapid.SampledFrom([]int{0, 3}).Draw(t, "depth")}
		ctx := context.Background()
		want := map[uint64]Call{}
		for c, err := range Calls(ctx, log, 0, opt) {
			if err != nil {
				t.Fatal(err)
			}
			call := *c
			call.Args = slices.Clone(c.Args)
			want[c.ID] = call
		}
		var open []Call
		var last, begun uint64
		ended, events := 0, uint64(0)
		r := NewReplay(log, 0, opt)
		for s, err := range r.Steps(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if s.At < last {
				t.Fatalf("time goes from %d to %d", last, s.At)
			}
			last = s.At
			c, w := &s.Call, want[s.Call.ID]
			switch s.What {
			case Begins:
				if c.ID <= begun || c.Func != w.Func || c.Start != w.Start || c.Parent != w.Parent || c.Node != w.Node || c.Depth != w.Depth || !slices.Equal(c.Args, w.Args) {
					t.Fatalf("begins %+v, want %+v", c, w)
				}
				if !backwards && s.At != w.Start {
					t.Fatalf("begins at %d, want %d", s.At, w.Start)
				}
				begun = c.ID
				open = append(open, *c)
			case Ends:
				top := open[len(open)-1]
				open = open[:len(open)-1]
				if top.ID != c.ID || c.Duration != w.Duration || c.Self != w.Self || c.End != w.End {
					t.Fatalf("ends %+v, want %+v on top of %+v", c, w, top)
				}
				if !backwards && s.At != w.Start+w.Duration {
					t.Fatalf("ends at %d, want %d", s.At, w.Start+w.Duration)
				}
				ended++
			case Happened:
				if s.Payload == nil || string(s.Payload.Data) != "x" {
					t.Fatalf("payload is %v", s.Payload)
				}
				events++
			}
		}
		if ended != len(want) || len(open) > 0 {
			t.Fatalf("%d calls ended, want %d; %d are open", ended, len(want), len(open))
		}
		if st := r.Thread().Stats; events != st.CustomEvents+st.TypedEvents {
			t.Fatalf("%d events, want %d", events, st.CustomEvents+st.TypedEvents)
		}
	})
}

// damagedLog is a log with damage after its events.
type damagedLog struct{ *calllog.Memory }

func (d damagedLog) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		for b, err := range d.Memory.Batches(thread, from, to) {
			if !yield(b, err) {
				return
			}
		}
		yield(nil, &calllog.Damage{What: "cut"})
	}
}

func TestStepsDamage(t *testing.T) {
	t.Parallel()
	log := &calllog.Memory{List: []calllog.Thread{{TID: 1}}, Content: [][]calllog.Part{{{Events: []calllog.Event{{Func: 1}, {Kind: calllog.Exit, Func: 1, Time: 5}}}}}}
	steps, damage := 0, 0
	for _, err := range NewReplay(damagedLog{log}, 0, Options{}).Steps(context.Background()) {
		var d *calllog.Damage
		switch {
		case errors.As(err, &d):
			damage++
		case err != nil:
			t.Fatal(err)
		default:
			steps++
		}
	}
	if steps != 2 || damage != 1 {
		t.Errorf("%d steps and %d damaged places, want 2 and 1", steps, damage)
	}
	for range NewReplay(damagedLog{log}, 0, Options{}).Steps(context.Background()) {
		break // must not go on
	}
}

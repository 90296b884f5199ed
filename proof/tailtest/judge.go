package tailtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/sample"
)

// Recording is the output of cairn record --lbr --truth of a run.
type Recording struct {
	Code *machinecode.Set
	// Samples and Truth open the two files; they are read twice. The samples must be in file
	// order.
	Samples func() (sample.Source, error)
	Truth   func() (io.Reader, error)
	// Depth keeps this many branches of each sample, none if it is negative; Every keeps one
	// sample in this many. 0 keeps all.
	Depth, Every int
	// Place is the argument of tailcall.NewFull. A jump at the same location as the true one,
	// to the same function, is correct.
	Place func(at machinecode.Ref) uint64
}

// Inferrer is an inferrer to be evaluated.
type Inferrer struct {
	tailcall.Inferrer

	// Alone ignores the tail calls that the branches of a sample show, as LLVM does.
	Alone bool
}

// Judge infers the missing frames of all samples and compares them with the truth. The
// inferrers are made from the branches of all samples.
func (r *Recording) Judge(ctx context.Context, inferrers func(*tailcall.Graph) []Inferrer) ([]Tally, error) {
	counter := unwind.New(r.Code, unwind.Options{TailCalls: true})
	err := r.each(ctx, func(b *sample.Batch) error {
		counter.Add(b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	judged := inferrers(tailcall.NewGraph(r.Code, counter.Result().Contexts))
	tallies := make([]Tally, len(judged))
	for i := range tallies {
		tallies[i].distinct = map[string]bool{}
	}
	u := unwind.New(r.Code, unwind.Options{TailCalls: true})
	err = r.eachTrue(ctx, u, func(s *sample.Sample, want *stack) {
		c, leaf, ok := u.Moment(s)
		for k := 0; ok && k < len(judged); k++ {
			c := c
			if judged[k].Alone {
				c = withoutJumps(r.Code, &c)
			}
			got := restored(tailcall.Restore(r.Code, judged[k], &c, leaf), leaf)
			tallies[k].compare(&got, want, r.same)
		}
	})
	return tallies, err
}

// eachTrue calls f with the samples that Every keeps, and their true stacks. u follows the
// processes of the samples.
func (r *Recording) eachTrue(ctx context.Context, u *unwind.Unwinder, f func(s *sample.Sample, want *stack)) error {
	truth, err := r.Truth()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(truth)
	lines.Buffer(nil, 1<<20)
	n := 0
	return r.each(ctx, func(b *sample.Batch) error {
		u.Enter(b)
		for i := range b.Samples {
			if n++; !lines.Scan() {
				return errors.Join(lines.Err(), fmt.Errorf("no true stack for sample %d", n))
			}
			s := &b.Samples[i]
			var want stack
			if s.Count > 0 && want.parse(lines.Text(), r.Code, func(addr uint64) ref { return u.Instruction(s.PID, addr) }) {
				f(s, &want)
			}
		}
		return nil
	})
}

// same reports whether chains are equal, as far as a profile can distinguish them.
func (r *Recording) same(a, b []ref) bool {
	return slices.EqualFunc(a, b, func(x, y ref) bool {
		if x == y || r.Place == nil {
			return x == y
		}
		p := r.Place(x)
		return p != 0 && p == r.Place(y) && r.Code.Binary(x) == r.Code.Binary(y)
	})
}

// each iterates over the samples. Those that are skipped have a count of 0.
func (r *Recording) each(ctx context.Context, f func(*sample.Batch) error) error {
	src, err := r.Samples()
	if err != nil {
		return err
	}
	n := 0
	for b, err := range src.Batches(ctx) {
		if err != nil {
			return err
		}
		for i := range b.Samples {
			s := &b.Samples[i]
			if r.Depth != 0 {
				s.Branches = s.Branches[:min(max(r.Depth, 0), len(s.Branches))]
			}
			if n++; r.Every > 1 && n%r.Every != 0 {
				s.Count, s.Branches, s.Stack = 0, nil, nil
			}
		}
		if err := f(b); err != nil {
			return err
		}
		b.Release()
	}
	return nil
}

// withoutJumps removes the restored jumps, and the marks of known frames, from a context.
func withoutJumps(code *machinecode.Set, c *unwind.Context) unwind.Context {
	frames := slices.DeleteFunc(slices.Clone(c.Frames), func(r ref) bool { return !code.Class(r).IsCall() })
	return unwind.Context{Frames: frames}
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A clockTimes is what a series measured of one build: in each round the time that the
// program had the processor, in seconds.
type clockTimes struct {
	Program, Compiler, Variant string
	User                       []float64 // in the program's own code
	CPU                        []float64 // with the system's
}

// A clockRun is a build of a program as it runs in a series.
type clockRun struct {
	*clockTimes
	p      *clockProgram
	argv   string // in front of the program
	size   string
	answer string // of all runs so far
}

// runs are those of the builds of a program that are there, the plain one first; none without that.
func (p *clockProgram) runs(front, size string) []*clockRun {
	var runs []*clockRun
	for _, v := range clockVariants {
		if !exists(p.program(v.name)) {
			fmt.Fprintf(p.b.log, "%v, %s: not built\n", p, v.name)
			if len(runs) == 0 {
				return nil
			}
			continue
		}
		runs = append(runs, &clockRun{
			clockTimes: &clockTimes{Program: p.g.name, Compiler: p.c.name, Variant: v.name},
			p:          p, argv: strings.TrimSpace(front + " " + p.program(v.name)), size: size,
		})
	}
	return runs
}

// run runs the program's work once, in front of which is a command, and checks its answer.
func (r *clockRun) run(ctx context.Context, front string) (user, cpu float64, err error) {
	out, err := os.CreateTemp(r.p.b.clocked.dir, "answer-")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd := r.p.shell(ctx, r.p.data, r.p.g.work, "P="+r.argv, "SIZE="+r.size)
	if front != "" {
		words := strings.Fields(front)
		cmd = command(ctx, cmd.Dir, append(cmd.Env[len(os.Environ()):], "P="+r.argv), append(words, cmd.Args...)...)
	}
	var talk strings.Builder
	cmd.Stdout, cmd.Stderr = out, &talk
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%v, %s: %w: %s", r.p, r.Variant, err, talk.String())
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return 0, 0, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, out); err != nil {
		return 0, 0, err
	}
	answer := fmt.Sprintf("%x", sum.Sum(nil))
	if r.answer == "" {
		r.answer = answer
	}
	if r.answer != answer {
		return 0, 0, fmt.Errorf("%v, %s: its answers differ from one run to another", r.p, r.Variant)
	}
	user = cmd.ProcessState.UserTime().Seconds()
	return user, user + cmd.ProcessState.SystemTime().Seconds(), nil
}

// sameAnswers compares what the builds of a program printed.
func sameAnswers(runs []*clockRun) error {
	for _, r := range runs[1:] {
		if r.answer != runs[0].answer {
			return fmt.Errorf("%v, %s: another answer than %s's", r.p, r.Variant, runs[0].Variant)
		}
	}
	return nil
}

// clockPin returns what is in front of a program of a series: it has its processor alone until it has ended, if the system permits
// that. What interrupts it empties caches and the tables of branches: with it, quartiles of xz at a load of 20 are as far apart as on a quiet machine.
func (b *bench) clockPin(ctx context.Context) string {
	pin := "taskset -c " + strconv.Itoa(b.clocked.cpu)
	const first = "chrt --fifo 10 "
	if _, err := output(ctx, "", append(strings.Fields(first), "true")...); err != nil {
		return pin
	}
	return first + pin
}

// clockSeries runs the builds of all programs in rounds until its time is over, each round
// beginning with another build, and writes series.json, where what an earlier series measured of other programs stays.
func (b *bench) clockSeries(ctx context.Context, programs []*clockProgram) error {
	end := time.Now().Add(b.clocked.series)
	var all [][]*clockRun
	pinned := b.clockPin(ctx)
	for _, p := range programs {
		runs := p.runs("", p.g.sizes.clock)
		for _, r := range runs {
			if _, _, err := r.run(ctx, pinned); err != nil {
				return err
			}
		}
		if runs == nil {
			continue
		}
		if err := sameAnswers(runs); err != nil {
			return err
		}
		all = append(all, runs)
	}
	rounds := 0
	for ; len(all) > 0 && time.Now().Before(end); rounds++ {
		for _, runs := range all {
			for i := range runs {
				r := runs[(i+rounds)%len(runs)]
				user, cpu, err := r.run(ctx, pinned)
				if err != nil {
					return err
				}
				r.User, r.CPU = append(r.User, user), append(r.CPU, cpu)
			}
		}
	}
	fmt.Fprintf(b.log, "%d rounds of %d programs\n", rounds, len(all))
	var times []*clockTimes
	if err := b.keptClock("series.json", &times); err != nil {
		return err
	}
	measured := allTimes(all)
	times = slices.DeleteFunc(times, func(t *clockTimes) bool {
		return slices.ContainsFunc(measured, func(m *clockTimes) bool { return m.Program == t.Program && m.Compiler == t.Compiler })
	})
	return b.keepClock("series.json", append(times, measured...))
}

func allTimes(all [][]*clockRun) []*clockTimes {
	var times []*clockTimes
	for _, runs := range all {
		for _, r := range runs {
			times = append(times, r.clockTimes)
		}
	}
	return times
}

// keepClock writes what was measured.
func (b *bench) keepClock(name string, measured any) error {
	text, err := json.MarshalIndent(measured, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.clocked.dir, name), text, 0o644)
}

// keptClock reads what an earlier run measured, if it did.
func (b *bench) keptClock(name string, measured any) error {
	text, err := os.ReadFile(filepath.Join(b.clocked.dir, name))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, measured)
}

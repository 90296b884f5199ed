package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// mode is a way to build with cairn.
type mode struct {
	name  string
	flags []string // of cairn cc
	reads []string // the verb that must accept what the run leaves
}

// allModes are the modes of x86-64, which has all.
var allModes = []mode{
	{"cover", []string{"--mode", "cover"}, merge},
	{"block", []string{"--mode", "block"}, merge},
	{"count", []string{"--mode", "count"}, merge},
	{"full", []string{"--mode", "full"}, merge},
	{"atomic", []string{"--mode", "full", "--atomic"}, merge},
	{"order", []string{"--mode", "order"}, merge},
	{"block+order", []string{"--mode", "block+order", "--order-slots", "16"}, merge},
	{"edge", []string{"--mode", "edge"}, []string{"merge", "--strict", "-o", "edge.mip", "program"}},
	{"spike", []string{"--mode", "spike", "--small", "0"}, []string{"spikes"}},
	{"exact", []string{"--mode", "spike", "--small", "0", "--clock", "exact", "--threshold", "5us"}, []string{"spikes"}},
	{"flight", []string{"--mode", "spike", "--flight"}, []string{"spikes"}},
	{"trace", []string{"--mode", "trace"}, []string{"account"}},
	{"stacks", []string{"--mode", "stacks"}, []string{"account"}},
	{"use", nil, nil},
	{"blocks", nil, nil},
}

// uses are the modes that build by a profile, and which mode leaves them one if none of those that are drawn does.
var uses = map[string]struct {
	after string
	fits  func(m *mode) bool
}{
	"use":    {"full", func(m *mode) bool { return m.records() && m.name != "edge" }},
	"blocks": {"edge", func(m *mode) bool { return m.name == "edge" }},
}

// merge is for raw files: the profile is used by the mode use.
var merge = []string{"merge", "--strict", "-o", "program.mip", "program"}

// records reports whether runs in a mode make a profile.
func (m *mode) records() bool { return len(m.reads) > 0 && m.reads[0] == "merge" }

// timed reports whether a mode measures time.
func (m *mode) timed() bool { return m.flags != nil && !m.records() }

const (
	limit = 5 * time.Minute // how long a program may run, on a machine that has much to do
	short = 2 * time.Second // of a processor: plain ones that take more are left out
)

// program is a program on trial.
type program struct {
	*torture
	dir      string
	source   source
	compiler []string
	want     answer
}

// answer is what a program does.
type answer struct {
	output []byte
	status string
	took   time.Duration // of a processor
}

// plain builds and runs the program without cairn. why is set where it is no program to
// compare with.
func (p *program) plain(ctx context.Context) (why string) {
	if why := p.source.write(p.dir); why != "" {
		return why
	}
	p.compiler = p.source.draw(p.target.available())
	if err := p.build(ctx, "plain"); err != nil {
		return "it does not build without cairn"
	}
	got, err := p.answer(ctx, "plain", "")
	if err != nil || got.took > short {
		return "it runs too long"
	}
	if p.source.passes() && got.status != "exit status 0" {
		return "it fails without cairn: what it does is not defined for this compiler"
	}
	again, err := p.answer(ctx, "plain", "")
	if err != nil || again.status != got.status || !bytes.Equal(again.output, got.output) {
		return "it does not answer the same twice"
	}
	p.want = got
	return ""
}

// old has clang take what C was when gcc's tests were written.
var old = []string{
	"-Wno-implicit-function-declaration", "-Wno-implicit-int", "-Wno-int-conversion",
	"-Wno-return-mismatch", "-Wno-incompatible-pointer-types",
}

// build compiles and links the program, with what stands before the compiler.
func (p *program) build(ctx context.Context, to string, before ...string) error {
	argv := slices.Concat(before, p.compiler, old, []string{"-w", "-std=gnu11", "-I/usr/include/csmith", "-o", to, "program.c", "-lm"})
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "CAIRN_CACHE="+filepath.Join(p.out, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %.300s", err, out)
	}
	return nil
}

var (
	errLong    = errors.New("it does not end")
	errRefused = errors.New("it is not built")
	errDiffers = errors.New("it answers otherwise")
)

// answer runs the program, with a directory for what cairn records.
func (p *program) answer(ctx context.Context, name, records string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	argv := append(slices.Clone(p.target.emulator), filepath.Join(p.dir, name))
	if name == "plain" { // programs without an end are many
		argv = append([]string{"/bin/sh", "-c", fmt.Sprintf(`ulimit -t %.0f; exec "$0" "$@"`, 2*short.Seconds())}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "CAIRN_DIR="+records)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return answer{}, errLong
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return answer{}, err
	}
	state := cmd.ProcessState
	return answer{out, state.String(), state.UserTime() + state.SystemTime()}, nil
}

// try builds and runs the program in a mode, and compares.
func (p *program) try(ctx context.Context, m *mode) error {
	before := append([]string{p.cairn, "cc", "--strict"}, m.flags...)
	if m.flags == nil {
		before = before[:2]
		profile, err := p.randomProfile(m.name == "blocks")
		if err != nil {
			return err
		}
		before = append(before, "--use", profile)
	}
	if err := p.build(ctx, "program", before...); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	records := filepath.Join(p.dir, "records-"+m.name)
	got, err := p.answer(ctx, "program", records)
	if err != nil {
		return err
	}
	if got.status != p.want.status || !bytes.Equal(got.output, p.want.output) {
		return fmt.Errorf("%w: it ends with %s and says %.200q; without cairn with %s and %.200q", errDiffers, got.status, got.output, p.want.status, p.want.output)
	}
	return p.read(ctx, m, records)
}

// read has cairn read what a run left: a program that ends by a signal may leave nothing.
func (p *program) read(ctx context.Context, m *mode, records string) error {
	left, err := filepath.Glob(filepath.Join(records, "*"))
	if err != nil || m.reads == nil {
		return err
	}
	if len(left) == 0 {
		if p.want.status == "exit status 0" {
			return errors.New("it left no record")
		}
		return nil
	}
	args := append(slices.Clone(m.reads), left...)
	cmd := exec.CommandContext(ctx, p.cairn, args...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cairn %s: %w: %.300s", m.reads[0], err, out)
	}
	return nil
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

const (
	profgenRows   = 30000
	profgenEvery  = 701
	profgenRounds = 5
	profgenBytes  = 500e6 // that the input has at least
	profgenLonger = 10    // how often it is repeated to see whether memory grows
)

// A profgenRun is a way of making a profile of samples, and what it cost.
type profgenRun struct {
	label string
	argv  []string
	times []float64 // seconds
	peak  float64   // MB
}

// profgen measures how fast samples become a profile, next to llvm-profgen, and
// writes PROFGEN.md.
func (b *bench) profgen(ctx context.Context) error {
	dir := filepath.Join(b.out, "profgen")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	program, input := filepath.Join(dir, "speed"), filepath.Join(dir, "speed.perf")
	fmt.Fprintln(b.log, "building SQLite with pseudo probes")
	if _, err := output(ctx, b.out, "clang-22", optimize, "-g1", "-w", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer",
		"-fpseudo-probe-for-profiling", "speed.c", "sqlite3.c", "-o", program, "-lm", "-lpthread"); err != nil {
		return err
	}
	fmt.Fprintln(b.log, "recording its branches")
	if _, err := output(ctx, dir, b.cairn, "record", "--lbr", "-o", input, "--event", "branches", "--every", strconv.Itoa(profgenEvery), "--", program, strconv.Itoa(profgenRows), "speed.db"); err != nil {
		return err
	}
	info, err := os.Stat(input)
	if err != nil {
		return err
	}
	ours := func(inference string) []string {
		return []string{b.cairn, "profgen", "--binary", program, "--infer-missing-frames=" + inference, "-o", filepath.Join(dir, "ours"), input}
	}
	theirs := func(inference string) []string {
		return []string{
			"llvm-profgen-22", "--binary=" + program, "--perfscript=" + input, "--format=text", "--output=" + filepath.Join(dir, "theirs"),
			"--csspgo-preinliner=0", "--csprof-merge-cold-context=0", "--gen-cs-nested-profile=0", "--infer-missing-frames=" + inference,
		}
	}
	alone := []string{"taskset", "-c", "1"}
	runs := []*profgenRun{
		{label: "llvm-profgen", argv: theirs("1")},
		{label: "llvm-profgen, without inference", argv: theirs("0")},
		{label: "cairn, two cores", argv: ours("full")},
		{label: "cairn, two cores, without inference", argv: ours("none")},
		{label: "cairn, one core", argv: append(alone, ours("full")...)},
		{label: "cairn, one core, without inference", argv: append(alone, ours("none")...)},
	}
	for round := range profgenRounds {
		fmt.Fprintf(b.log, "round %d of %d\n", round+1, profgenRounds)
		for _, r := range runs {
			seconds, peak, err := runTimed(ctx, nil, r.argv...)
			if err != nil {
				return err
			}
			r.times, r.peak = append(r.times, seconds), max(r.peak, peak)
		}
	}
	streams, err := b.streamSamples(ctx, input, program)
	if err != nil {
		return err
	}
	uses, err := b.useProfiles(ctx, filepath.Join(dir, "lua"))
	if err != nil {
		return err
	}
	if err := b.reportProfgen(ctx, info.Size(), runs, streams, uses); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// A sampleStream is a command that reads samples from a pipe, and its peak memory in
// MB with the input once and profgenLonger times.
type sampleStream struct {
	label       string
	once, often float64
}

// streamSamples measures whether the memory of commands grows with their input.
func (b *bench) streamSamples(ctx context.Context, input, program string) ([]*sampleStream, error) {
	packed := input + ".zst"
	if _, err := output(ctx, "", "zstd", "-q", "-1", "-f", input, "-o", packed); err != nil {
		return nil, err
	}
	profile := []string{"profgen", "--binary", program, "-o", filepath.Join(b.out, "profgen", "streamed"), "-"}
	var streams []*sampleStream
	for _, s := range []struct {
		label, file string
		argv        []string
	}{
		{"cairn samples", input, []string{"samples", "-"}},
		{"cairn profgen", input, profile},
		{"cairn profgen, of zstd", packed, profile},
	} {
		fmt.Fprintf(b.log, "%s, from a pipe\n", s.label)
		m := &sampleStream{label: s.label}
		for _, run := range []struct {
			times int
			peak  *float64
		}{{1, &m.once}, {profgenLonger, &m.often}} {
			var err error
			if *run.peak, err = b.streamPeak(ctx, s.file, run.times, s.argv...); err != nil {
				return nil, err
			}
		}
		streams = append(streams, m)
	}
	return streams, nil
}

// streamPeak gives a file several times over to cairn, and returns its peak memory. A
// stream of zstd may be several that follow one another.
func (b *bench) streamPeak(ctx context.Context, file string, times int, argv ...string) (float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var parts []io.Reader
	for range times {
		parts = append(parts, io.NewSectionReader(f, 0, info.Size()))
	}
	cmd := command(ctx, "", nil, append([]string{b.cairn}, argv...)...)
	cmd.Stdin = io.MultiReader(parts...)
	_, peak, err := timeOf(cmd)
	return peak, err
}

func (b *bench) reportProfgen(ctx context.Context, size int64, runs []*profgenRun, streams []*sampleStream, uses []*profileUse) error {
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Profiles of samples",
		"Samples of the branches of SQLite's workload, recorded by `cairn record --lbr`, made into a profile\nwith contexts; clock time, median of interleaved runs. The file is in the kernel's cache.",
		[][]string{{"clang", "clang-22", "--version"}, {"llvm-profgen", "llvm-profgen-22", "--version"}})
	llvm, two, twoPlain, one, onePlain := runs[0], runs[2], runs[3], runs[4], runs[5]
	faster := func(r *profgenRun) float64 { return median(llvm.times) / median(r.times) }
	inference := max(median(two.times)/median(twoPlain.times), median(one.times)/median(onePlain.times)) - 1
	grown := 0.0
	for _, s := range streams {
		grown = max(grown, s.often/s.once)
	}
	writeTargets(&text, []target{
		{"input", ">= 500 MB", thousands(size/1e6) + " MB", float64(size) >= profgenBytes},
		{"two cores, against llvm-profgen", ">= 3.00x", fmt.Sprintf("%.2fx", faster(two)), faster(two) >= 3},
		{"one core, against llvm-profgen", ">= 1.50x", fmt.Sprintf("%.2fx", faster(one)), faster(one) >= 1.5},
		{"peak memory, against llvm-profgen", "<= 1.00x", fmt.Sprintf("%.2fx", two.peak/llvm.peak), two.peak <= llvm.peak},
		{fmt.Sprintf("peak memory of %d times the input, against once", profgenLonger), "<= 1.50x", fmt.Sprintf("%.2fx", grown), grown <= 1.5},
		{"what inference adds", "<= +5.00 %", percent(inference), inference <= 0.05},
		{"instructions of a build by it, against llvm-profgen's", "<= +0.10 %", percent(worstUse(uses)), worstUse(uses) <= 0.001},
	})
	rows := [][]string{{"run", "seconds", "MB/s", "peak memory, MB"}}
	for _, r := range runs {
		rows = append(rows, []string{r.label, spread(r.times), thousands(int64(float64(size) / 1e6 / median(r.times))), fmt.Sprintf("%.0f", r.peak)})
	}
	table(&text, rows)
	fmt.Fprintf(&text, "## Memory, from a pipe\n\nThe same input, and %d times over.\n\n", profgenLonger)
	rows = [][]string{{"command", thousands(size/1e6) + " MB", thousands(size*profgenLonger/1e6) + " MB"}}
	for _, s := range streams {
		rows = append(rows, []string{s.label, fmt.Sprintf("%.0f MB", s.once), fmt.Sprintf("%.0f MB", s.often)})
	}
	table(&text, rows)
	writeUses(&text, uses)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.root, "bench", "PROFGEN.md"), text.Bytes(), 0o644)
}

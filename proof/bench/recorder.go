package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// recorded is what one program did, plain and under cairn record.
type recorded struct {
	guest         *recorderGuest
	why           string // it was not run, or what is wrong
	bad           bool
	plain, copied float64 // seconds of processors, medians
	samples, note string
}

// recorder runs programs plain and under cairn record --lbr, and writes RECORDER.md: whether
// they answer the same, and how much longer they take.
func (b *bench) recorder(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.out, "recorder-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeRecorderFiles(dir); err != nil {
		return err
	}
	var all []recorded
	for _, g := range allRecorderGuests() {
		r := b.recordGuest(ctx, dir, &g)
		fmt.Fprintf(b.log, "-- %s: %s %s\n", r.guest.name, r.why, r.slower())
		all = append(all, r)
	}
	if err := os.WriteFile(filepath.Join(b.root, "bench", "RECORDER.md"), b.recorderReport(ctx, all), 0o644); err != nil {
		return err
	}
	if i := slices.IndexFunc(all, func(r recorded) bool { return r.bad }); i >= 0 {
		return fmt.Errorf("%s: %s", all[i].guest.name, all[i].why)
	}
	return nil
}

func allRecorderGuests() []recorderGuest { return slices.Concat(recorderGuests, recorderStrangers) }

func writeRecorderFiles(dir string) error {
	for _, files := range []map[string]string{recorderFiles, strangerFiles} {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	var words bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&words, "%d word%d %x\n", i, i*7919%5003, i*i)
	}
	return os.WriteFile(filepath.Join(dir, "words.txt"), words.Bytes(), 0o644)
}

// answer is what a run of a guest gave.
type answer struct {
	stdout, stderr string
	code           int
	seconds        float64 // of processors, by all its processes
}

// recordGuest runs one program, in turns.
func (b *bench) recordGuest(ctx context.Context, dir string, g *recorderGuest) recorded {
	r := recorded{guest: g}
	if _, err := exec.LookPath(g.program); err != nil {
		r.why = "not here"
		return r
	}
	if prepare := recorderPrepares[g.name]; prepare != "" {
		if _, err := output(ctx, dir, "bash", "-c", prepare); err != nil {
			r.why = "not here: " + err.Error()
			return r
		}
	}
	var plain, copied []float64
	for i := range max(1, min(3, b.rounds)) {
		want, err := runGuest(ctx, dir, g, "")
		if err != nil {
			r.why = "plain: " + err.Error() // it is not the recorder's fault
			return r
		}
		out := filepath.Join(dir, "out.perf")
		got, err := runGuest(ctx, dir, g, b.cairn+" record --lbr --dso all -o "+out+" --")
		if err != nil {
			r.why, r.bad = err.Error(), true
			return r
		}
		if i == 0 && got.code != want.code || got.stdout != want.stdout {
			r.why, r.bad = fmt.Sprintf("it says %.60q and ends with %d; plain, %.60q and %d", got.stdout, got.code, want.stdout, want.code), true
			return r
		}
		r.samples, r.note = saidOf(got.stderr)
		if r.samples == "" {
			r.why, r.bad = fmt.Sprintf("it was not recorded: %.100q", got.stderr), true
			return r
		}
		plain, copied = append(plain, want.seconds), append(copied, got.seconds)
	}
	r.plain, r.copied = median(plain), median(copied)
	return r
}

var (
	samplesLine = regexp.MustCompile(`cairn: ([0-9,]+) samples?`)
	plainLine   = regexp.MustCompile(`cairn: note: record: (.*)`)
)

// saidOf returns what cairn printed about a recording.
func saidOf(stderr string) (samples, note string) {
	if m := samplesLine.FindStringSubmatch(stderr); m != nil {
		samples = m[1]
	}
	if m := plainLine.FindStringSubmatch(stderr); m != nil {
		note = m[1]
	}
	return samples, note
}

// runGuest runs the guest's script, in which RUN is what stands in front of the program.
func runGuest(ctx context.Context, dir string, g *recorderGuest, run string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", g.script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "RUN="+run)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	a := answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if ctx.Err() != nil {
		return a, errors.New("it did not end in four minutes")
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return a, err
	}
	return a, nil
}

func (r *recorded) slower() string {
	if r.plain == 0 {
		return ""
	}
	return fmt.Sprintf("%.1fx", r.copied/r.plain)
}

func (b *bench) recorderReport(ctx context.Context, all []recorded) []byte {
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Programs under the recorder", `Programs of Debian run plain and under cairn record --lbr, with
the libraries that they are linked with (`+"`--dso all`"+`). What they print is compared, byte by byte, and
their exit codes. Times are processor time of all processes, medians of runs in turns: planning
the copy of the code is part of them, and most of a short run of a large program.`, nil)
	rows := [][]string{{"program", "kind", "answers", "samples", "plain", "recorded", "slow-down", "note"}}
	var ratios, missing []string
	var slow []float64
	for i := range all {
		r := &all[i]
		switch {
		case r.bad:
			rows = append(rows, []string{r.guest.name, r.guest.kind, "FAILED", "", "", "", "", r.why})
		case r.why != "":
			missing = append(missing, r.guest.name+" ("+r.why+")")
		default:
			slow = append(slow, r.copied/r.plain)
			rows = append(rows, []string{r.guest.name, r.guest.kind, "equal", r.samples, seconds(r.plain), seconds(r.copied), r.slower(), r.note})
		}
	}
	table(&text, rows)
	if len(slow) > 0 {
		ratios = append(ratios, fmt.Sprintf("%d programs: the median slow-down is %.1fx, the worst %.1fx.", len(slow), median(slow), slices.Max(slow)))
	}
	if len(missing) > 0 {
		ratios = append(ratios, "Not run: "+strings.Join(missing, ", ")+".")
	}
	fmt.Fprintf(&text, "\n%s\n", strings.Join(ratios, "\n\n"))
	return text.Bytes()
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 2, 64) + " s" }

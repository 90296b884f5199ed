// Package push sends the raw files and logs in directories to a collector, and marks or removes
// those that the collector has stored.
//
// The names of the files are its only state: after a crash it sends files again, and the collector
// counts no run twice. It reads files when they are complete, and never writes to them.
package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/splitmix"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// After is what to do with a file that the collector has stored.
type After int

// What to do with files.
const (
	Mark   After = iota // append .sent to its name
	Delete              // remove it
	Keep                // leave it as it is
)

// Suffixes of files that are not sent again.
const (
	rawSuffix = ".mipraw"
	logSuffix = ".cairnlog"

	sent    = ".sent"
	refused = ".refused" // the collector found it damaged
	skipped = ".skipped" // not in the sample, or too old
)

// Options are settings of a pusher.
type Options struct {
	Dirs     []string
	URLs     []string // of the collector's nodes: the next is tried after an error
	Maps     [][]byte // that are sent first
	Debug    []string // paths of programs and debug files, which are sent after them
	After    After
	Settle   time.Duration // how long the mapped file of a process that is gone must be unchanged
	MaxAge   time.Duration // of a file that is sent, 0 for any
	MaxBytes int64         // of files in an upload
	Rate     int64         // bytes of files a second, 0 for any number
	Patience time.Duration // how long Once tries again
	Client   *client.Client
	Log      *slog.Logger
	// Sleep waits, or returns the error of the context.
	Sleep func(context.Context, time.Duration) error
}

// Sleep waits for a time.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Summary counts what was done.
type Summary struct {
	Sent    int   // files that the collector has
	Known   int   // of them, those that it had before
	Refused int   // files that it found damaged
	Skipped int   // files that are not in the sample, or too old
	Waiting int   // files that are not complete yet
	Bytes   int64 // of files that were sent
}

// Pusher sends files.
type Pusher struct {
	o     Options
	node  int // of URLs
	share float64
	done  map[string]bool // with Keep: files that need not be sent again
	sum   Summary
}

// New returns a pusher.
func New(o Options) *Pusher {
	if o.Sleep == nil {
		o.Sleep = Sleep
	}
	return &Pusher{o: o, share: 1, done: make(map[string]bool)}
}

// Once sends the files that exist now. After a temporary error it tries again, until it has
// waited for Patience since the collector last accepted something.
func (p *Pusher) Once(ctx context.Context) (Summary, error) {
	p.sum = Summary{}
	wait, waited := backoff{}, time.Duration(0)
	for accepted := p.accepted(); ; {
		err := p.round(ctx)
		if err == nil || !client.Temporary(err) || ctx.Err() != nil {
			return p.sum, err
		}
		if now := p.accepted(); now != accepted {
			accepted, wait, waited = now, backoff{}, 0
		}
		if p.another() {
			continue
		}
		d := wait.next(err)
		if waited += d; waited > p.o.Patience {
			return p.sum, err
		}
		p.o.Log.Warn("sending failed; trying again later", "in", d.Round(time.Millisecond), "error", err)
		if err := p.o.Sleep(ctx, d); err != nil {
			return p.sum, err
		}
	}
}

// accepted changes whenever the collector has accepted a file.
func (p *Pusher) accepted() int { return p.sum.Sent + p.sum.Refused - len(p.o.Maps) - len(p.o.Debug) }

func (p *Pusher) url() string { return p.o.URLs[p.node] }

// another selects the next node. It reports false if all have been tried.
func (p *Pusher) another() bool {
	p.node = (p.node + 1) % len(p.o.URLs)
	return p.node != 0
}

// Watch sends files as they appear, until ctx ends. It looks for them once in each interval.
func (p *Pusher) Watch(ctx context.Context, interval time.Duration) error {
	wait := backoff{}
	for {
		p.sum = Summary{}
		err := p.round(ctx)
		pause := interval
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && client.Temporary(err) && p.another():
			pause = 0
		case err != nil:
			pause = max(interval, wait.next(err))
			p.o.Log.Warn("sending failed; trying again later", "in", pause.Round(time.Millisecond), "error", err)
		default:
			wait = backoff{}
			if p.sum.Sent+p.sum.Refused+p.sum.Skipped > 0 {
				p.o.Log.Info("sent", "files", p.sum.Sent, "known", p.sum.Known, "refused", p.sum.Refused, "skipped", p.sum.Skipped)
			}
		}
		if p.o.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// backoff grows with each failure. A part of it is random, so that senders that failed at the same time do not
// try again at the same time.
type backoff struct{ failures int }

func (b *backoff) next(err error) time.Duration {
	const first, most = time.Second, 10 * time.Minute
	d := most
	if b.failures < 10 {
		d = min(most, first<<b.failures)
	}
	b.failures++
	d = d/2 + rand.N(d/2)
	var e *client.Error
	if errors.As(err, &e) {
		d = max(d, e.After+rand.N(e.After/4+1))
	}
	return d
}

// round sends the maps and all files that are complete.
func (p *Pusher) round(ctx context.Context) error {
	for len(p.o.Maps) > 0 {
		answer, err := p.o.Client.Send(ctx, p.url(), p.o.Maps[0])
		if err != nil {
			return err
		}
		if len(answer.Refused) > 0 {
			return &client.Error{URL: p.url(), Status: http.StatusConflict, Reason: "map: " + answer.Refused[0].Reason}
		}
		p.o.Maps = p.o.Maps[1:]
	}
	for len(p.o.Debug) > 0 {
		if err := p.o.Client.SendDebug(ctx, p.url(), p.o.Debug[0]); err != nil {
			return err
		}
		p.o.Debug = p.o.Debug[1:]
	}
	files, err := p.scan()
	if err != nil {
		return err
	}
	if len(files) > 0 {
		if p.share, err = p.o.Client.Share(ctx, p.url()); err != nil {
			return err
		}
	}
	var batch []file
	size := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := p.send(ctx, batch)
		batch, size = nil, 0
		return err
	}
	for _, f := range files {
		switch ready, err := p.read(&f); {
		case err != nil:
			p.o.Log.Warn("reading", "error", err)
			continue
		case !ready:
			p.sum.Waiting++
			continue
		case !p.chosen(&f):
			p.sum.Skipped++
			p.settle(&f, skipped)
			continue
		}
		if size+int64(len(f.data)) > p.o.MaxBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, f), size+int64(len(f.data))
	}
	return flush()
}

// file is a raw file or a log in one of the directories.
type file struct {
	path string
	info fs.FileInfo
	data []byte
}

// scan returns the raw files and logs in the directories, the oldest first.
func (p *Pusher) scan() ([]file, error) {
	var files []file
	for _, dir := range p.o.Dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if path == dir {
					return err
				}
				p.o.Log.Warn("reading", "error", err)
				return nil
			}
			if !d.Type().IsRegular() || !strings.HasSuffix(path, rawSuffix) && !strings.HasSuffix(path, logSuffix) || p.done[path] {
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			files = append(files, file{path: path, info: info})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	stablesort.Func(files, func(a, b file) int {
		return cmp.Or(a.info.ModTime().Compare(b.info.ModTime()), cmp.Compare(a.path, b.path))
	})
	return files, nil
}

// chosen reports whether a file is in the sample that the collector asks for. It depends on the
// name, which has the process in it, so that the same is chosen each time.
func (p *Pusher) chosen(f *file) bool {
	if p.o.MaxAge > 0 && time.Since(f.info.ModTime()) > p.o.MaxAge {
		return false
	}
	if p.share >= 1 {
		return true
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", filepath.Base(f.path), f.info.ModTime().UnixNano())
	return float64(splitmix.Mix(h.Sum64())>>11)/(1<<53) < p.share
}

// send sends files in one upload, or each alone if that is too large.
func (p *Pusher) send(ctx context.Context, batch []file) error {
	var list []bundle.File
	size := int64(0)
	for i := range batch {
		name := filepath.Base(batch[i].path)
		if bundle.CheckName(name) != nil {
			name = ""
		}
		list = append(list, bundle.File{Name: name, Data: batch[i].data})
		size += int64(len(batch[i].data))
	}
	body, err := bundle.Append(nil, list)
	if err != nil {
		return err
	}
	answer, err := p.o.Client.Send(ctx, p.url(), body)
	if tooLarge(err) && len(batch) > 1 {
		half := len(batch) / 2
		if err := p.send(ctx, batch[:half]); err != nil {
			return err
		}
		return p.send(ctx, batch[half:])
	}
	if tooLarge(err) {
		p.o.Log.Warn("refused", "file", batch[0].path, "reason", err)
		p.sum.Refused++
		p.settle(&batch[0], refused)
		return nil
	}
	if err != nil {
		return err
	}
	p.share = answer.Share
	p.finish(batch, answer)
	p.sum.Bytes += size
	if p.o.Rate > 0 {
		return p.o.Sleep(ctx, time.Duration(float64(size)/float64(p.o.Rate)*float64(time.Second)))
	}
	return nil
}

func tooLarge(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Status == http.StatusRequestEntityTooLarge
}

// finish marks the files of an upload.
func (p *Pusher) finish(batch []file, answer *client.Answer) {
	bad := make(map[int]string)
	for _, r := range answer.Refused {
		bad[r.Index] = r.Reason
	}
	for i := range batch {
		if reason, ok := bad[i]; ok {
			p.o.Log.Warn("refused", "file", batch[i].path, "reason", reason)
			p.sum.Refused++
			p.settle(&batch[i], refused)
			continue
		}
		p.sum.Sent++
		p.settle(&batch[i], sent)
	}
	p.sum.Known += answer.Known
}

// settle marks or removes a file, unless it was replaced since it was read. Files that the
// collector found damaged are never removed, so that the cause can be found.
func (p *Pusher) settle(f *file, how string) {
	if p.o.After == Keep {
		p.done[f.path] = true
		return
	}
	now, err := os.Lstat(f.path)
	if err != nil || !os.SameFile(now, f.info) || now.Size() != f.info.Size() || !now.ModTime().Equal(f.info.ModTime()) {
		return // the next round reads it
	}
	if p.o.After == Delete && how != refused {
		err = os.Remove(f.path)
	} else {
		err = os.Rename(f.path, f.path+how)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.o.Log.Warn("marking a file that was sent", "error", err)
		p.done[f.path] = true
	}
}

package gate

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/fleet/tally"
)

// counts are the counters of the gate.
type counts struct {
	mu       sync.Mutex
	uploads  uint64
	files    uint64
	bad      uint64
	bytes    uint64
	statuses map[int]uint64         // of refused requests
	limits   map[tally.Limit]uint64 // of uploads that exceed a limit of their sender
}

// limited counts an upload that exceeds a limit of its sender, or one of all senders.
func (c *counts) limited(err error) {
	var limit *tally.LimitError
	name := tally.Limit("")
	switch {
	case errors.As(err, &limit):
		name = limit.Limit
	case errors.Is(err, tally.ErrMemory):
		name = "memory_of_all"
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limits == nil {
		c.limits = make(map[tally.Limit]uint64)
	}
	c.limits[name]++
}

func (c *counts) accepted(files, bad, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uploads++
	c.files += uint64(files)
	c.bad += uint64(bad)
	c.bytes += uint64(bytes)
}

func (c *counts) refused(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.statuses == nil {
		c.statuses = make(map[int]uint64)
	}
	c.statuses[status]++
}

// metrics answers in the text format of Prometheus.
func (g *Gate) metrics(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	metric := func(name, kind, help string, v any) {
		fmt.Fprintf(&b, "# HELP cairn_%s %s\n# TYPE cairn_%s %s\ncairn_%s %v\n", name, help, name, kind, name, v)
	}
	s := g.c.Status()
	g.counts.mu.Lock()
	if g.o.Connections != nil {
		metric("connections_refused_total", "counter", "Connections that were closed at once: too many, or too many of one address.", g.o.Connections.Refused())
	}
	metric("uploads_total", "counter", "Uploads that were acknowledged.", g.counts.uploads)
	metric("upload_files_total", "counter", "Files in them.", g.counts.files)
	metric("upload_bytes_total", "counter", "Bytes in them, unpacked.", g.counts.bytes)
	metric("upload_bad_files_total", "counter", "Files in them that were damaged or of another kind.", g.counts.bad)
	fmt.Fprint(&b, "# HELP cairn_refused_total Requests that were rejected, by status.\n# TYPE cairn_refused_total counter\n")
	for _, status := range slices.Sorted(maps.Keys(g.counts.statuses)) {
		fmt.Fprintf(&b, "cairn_refused_total{status=\"%d\"} %d\n", status, g.counts.statuses[status])
	}
	fmt.Fprint(&b, "# HELP cairn_limited_total Uploads that were rejected since they exceed a limit of their token, by limit.\n# TYPE cairn_limited_total counter\n")
	for _, limit := range slices.Sorted(maps.Keys(g.counts.limits)) {
		fmt.Fprintf(&b, "cairn_limited_total{limit=\"%s\"} %d\n", limit, g.counts.limits[limit])
	}
	g.counts.mu.Unlock()
	g.uses(&b, s.Senders)
	metric("memory_limit_bytes", "gauge", "The most memory that the collector may have (--max-memory).", g.o.MaxMemory)
	metric("state_memory_bytes", "gauge", "Memory of what is kept of builds and files, about; the rest is on the disk.", s.Memory)
	metric("runs_total", "counter", "Raw files that were merged.", s.Raws)
	metric("repeated_total", "counter", "Raw files of runs that were there already.", s.Repeated)
	metric("damaged_total", "counter", "Raw files that do not fit the map of their build.", s.Damaged)
	metric("map_conflicts_total", "counter", "Maps of builds that have another map.", s.Conflicts)
	metric("maps_total", "counter", "Maps of builds.", s.Maps)
	metric("builds", "gauge", "Builds that are known.", s.Builds)
	metric("waiting_files", "gauge", "Raw files that wait for the map of their build.", s.Waiting)
	metric("waiting_bytes", "gauge", "Bytes of them.", s.WaitingBytes)
	metric("remembered_files", "gauge", "Files that would be recognised if they came again.", s.Seen)
	metric("journal_last", "counter", "Number of the last record of the journal.", s.Last)
	metric("journal_merged", "counter", "Number of the last record that was merged.", s.Merged)
	metric("foreign_total", "counter", "Files of builds that belong to other programs than their sender's, which were ignored.", s.Foreign)
	metric("journal_lost_total", "counter", "Records of the journal, each an upload, that damage destroyed.", s.Lost)
	metric("snapshots_total", "counter", "Snapshots that were written.", s.Snapshots)
	metric("snapshot_errors_total", "counter", "Snapshots that could not be written.", s.SnapshotErrors)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // the client may have disconnected
}

// uses writes what is kept of each sender, and how much that may be.
func (g *Gate) uses(b *strings.Builder, senders map[string]tally.Use) {
	values := func(name, label string, u tally.Use) {
		for _, v := range []struct {
			limit tally.Limit
			n     int64
		}{{tally.LimitUnknown, int64(u.Unknown)}, {tally.LimitPlaces, int64(u.Places)}, {tally.LimitBytes, u.Bytes}, {tally.LimitMemory, u.Memory}} {
			fmt.Fprintf(b, "cairn_%s{%slimit=\"%s\"} %d\n", name, label, v.limit, v.n)
		}
	}
	fmt.Fprint(b, "# HELP cairn_token_limit What may be kept of a token; 0 for no limit, of bytes for half of the disk.\n# TYPE cairn_token_limit gauge\n")
	values("token_limit", "", g.o.Limits)
	fmt.Fprint(b, "# HELP cairn_token_use What is kept of a token, by the first digits of its SHA-256.\n# TYPE cairn_token_use gauge\n")
	for _, sender := range slices.Sorted(maps.Keys(senders)) {
		values("token_use", fmt.Sprintf("token=%q,", sender), senders[sender])
	}
}

package gate

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// counts are the counters of the gate.
type counts struct {
	mu       sync.Mutex
	uploads  uint64
	files    uint64
	bad      uint64
	bytes    uint64
	statuses map[int]uint64 // of refused requests
}

func (c *counts) taken(files, bad, bytes int) {
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
	metric("uploads_total", "counter", "Uploads that were acknowledged.", g.counts.uploads)
	metric("upload_files_total", "counter", "Files in them.", g.counts.files)
	metric("upload_bytes_total", "counter", "Bytes in them, unpacked.", g.counts.bytes)
	metric("upload_bad_files_total", "counter", "Files in them that were damaged or of another kind.", g.counts.bad)
	fmt.Fprint(&b, "# HELP cairn_refused_total Requests that were rejected, by status.\n# TYPE cairn_refused_total counter\n")
	for _, status := range slices.Sorted(maps.Keys(g.counts.statuses)) {
		fmt.Fprintf(&b, "cairn_refused_total{status=\"%d\"} %d\n", status, g.counts.statuses[status])
	}
	g.counts.mu.Unlock()
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

package gate

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Backups is a Backend that can make copies of itself.
type Backups interface {
	// Backup returns a function that writes a copy with everything that was acknowledged before the call. It calls
	// step before each part, and must be called once.
	Backup(ctx context.Context) (write func(w io.Writer, step func() error) error, err error)
}

// backup answers with a copy of the collector.
func (g *Gate) backup(w http.ResponseWriter, r *http.Request) {
	b, ok := g.c.(Backups)
	if !ok {
		g.refuse(w, r, http.StatusNotFound, "this collector makes no backups: copy its place in the object store (docs/fleet.md, Backup)")
		return
	}
	write, err := b.Backup(r.Context())
	if err != nil {
		g.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-tar")
	control := http.NewResponseController(w)
	err = write(w, func() error { return control.SetWriteDeadline(time.Now().Add(transfer)) })
	if err != nil {
		g.o.Log.Error("backup", "from", r.RemoteAddr, "error", err)
		panic(http.ErrAbortHandler) // the client sees that the end is missing
	}
	g.audit(r, "backup")
}

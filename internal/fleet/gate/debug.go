package gate

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// DebugFiles keeps programs and their debug files by build id. Kind is "executable" or
// "debuginfo".
type DebugFiles interface {
	PutDebug(ctx context.Context, id prof.BuildID, kind string, f *os.File) error
	// Debug returns a file; if there is none, an error with tally.ErrNone.
	Debug(ctx context.Context, id prof.BuildID, kind string) (io.ReadCloser, int64, error)
}

var errForeignDebug = errors.New("the token is for certain programs: send the map of this build first")

// transfer is how long the transfer of a program or a debug file may take.
const transfer = time.Hour

// putDebug handles the upload of a program or its debug file.
func (g *Gate) putDebug(w http.ResponseWriter, r *http.Request) {
	control, end := http.NewResponseController(w), time.Now().Add(transfer)
	if err := errors.Join(control.SetReadDeadline(end), control.SetWriteDeadline(end)); err != nil {
		g.fail(w, r, err)
		return
	}
	id, kinds, err := g.storeDebug(http.MaxBytesReader(w, r.Body, g.o.MaxDebug), r)
	if err != nil {
		g.refuse(w, r, statusOf(err, http.StatusBadRequest), err.Error())
		return
	}
	g.audit(r, "debug file", "build", id.String(), "kinds", kinds)
	answer(w, struct {
		Version int      `json:"version"`
		Build   string   `json:"build"`
		Kinds   []string `json:"kinds"`
	}{1, id.String(), kinds})
}

// storeDebug writes a body to a temporary file, and stores it by its kinds.
func (g *Gate) storeDebug(body io.Reader, r *http.Request) (id prof.BuildID, kinds []string, err error) {
	f, err := os.CreateTemp(g.o.Temp, "debug-*")
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := io.Copy(f, body); err != nil {
		return "", nil, err
	}
	if id, kinds, err = debugKinds(f.Name()); err != nil {
		return "", nil, err
	}
	if grant := g.grant(r); grant.Programs != nil {
		builds, err := g.visible(r, tally.Query{IDs: []string{id.String()}})
		if err != nil {
			return "", nil, err
		}
		if len(builds) == 0 {
			return "", nil, errForeignDebug
		}
	}
	for _, kind := range kinds {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return "", nil, err
		}
		if err := g.o.Debug.PutDebug(r.Context(), id, kind, f); err != nil {
			return "", nil, err
		}
	}
	return id, kinds, nil
}

// debugKinds returns the build id of a file and its kinds: executable, debuginfo, or both.
func debugKinds(path string) (prof.BuildID, []string, error) {
	f, err := objfile.Open(path)
	if err != nil {
		return "", nil, errors.New("not a program or a debug file of ELF")
	}
	defer f.Close()
	id, err := f.BuildID()
	if err != nil {
		return "", nil, errors.New("the file has no build id: link the program with -Wl,--build-id")
	}
	var kinds []string
	if code, _, _, ok, err := f.Section(".text"); err == nil && ok && len(code) > 0 {
		kinds = append(kinds, "executable")
	}
	for _, name := range []string{".debug_info", ".symtab"} {
		if data, _, _, ok, err := f.Section(name); err == nil && ok && len(data) > 0 {
			return id, append(kinds, "debuginfo"), nil
		}
	}
	if kinds == nil {
		return "", nil, errors.New("neither code nor debug information is in the file")
	}
	return id, kinds, nil
}

// debugFile answers like a debuginfod server.
func (g *Gate) debugFile(w http.ResponseWriter, r *http.Request) {
	id, err := hex.DecodeString(r.PathValue("build"))
	kind := r.PathValue("kind")
	if err != nil || len(id) == 0 || len(id) > 64 || kind != "executable" && kind != "debuginfo" {
		g.refuse(w, r, http.StatusNotFound, "no such file")
		return
	}
	if g.grant(r).Programs != nil {
		if _, err := g.build(r); err != nil {
			g.fail(w, r, err)
			return
		}
	}
	f, size, err := g.o.Debug.Debug(r.Context(), prof.BuildID(id), kind)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	defer f.Close()
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(transfer)); err != nil {
		g.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.Copy(w, f) // the client may have disconnected
}

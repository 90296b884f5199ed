package depot_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/internal/objectstore/storetest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// watched is an object store that counts requests, and refuses objects of snapshots from a number on.
type watched struct {
	t     *testing.T
	place string
	files string // directory of the objects

	mu             sync.Mutex
	lists, objects int
	refuse         int // 0 for never
}

func watch(t *testing.T) *watched {
	t.Helper()
	store := storetest.Start(t)
	to, err := url.Parse(store.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, place: storetest.Place + "/" + t.Name(), files: filepath.Join(store.Root, storetest.Bucket, t.Name(), "objects")}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.see(r) {
			http.Error(rw, "no", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	for _, variable := range storetest.Environment(server.URL) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return w
}

func (w *watched) see(r *http.Request) (refused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
		w.lists++
	case r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/objects/"):
		w.objects++
		return w.refuse > 0 && w.objects > w.refuse
	}
	return false
}

func (w *watched) counts() (lists, objects int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists, w.objects
}

func (w *watched) open() *depot.Bucket {
	w.t.Helper()
	store, err := objectstore.Open(w.place)
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := depot.NewBucket(store, w.t.TempDir())
	if err == nil {
		_, err = b.Heads()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// put puts objects, and returns their names as those that a snapshot uses.
func (w *watched) put(b *depot.Bucket, n int, text string) map[string]bool {
	w.t.Helper()
	used := make(map[string]bool)
	for i := range n {
		name, err := b.Put(fmt.Appendf(nil, "%s %d", text, i))
		if err != nil {
			w.t.Fatal(err)
		}
		used[name] = true
	}
	return used
}

// replace writes a snapshot.
func (w *watched) replace(b *depot.Bucket, used map[string]bool) {
	w.t.Helper()
	for _, step := range []func() error{b.Begin, func() error { return b.SetHead([]byte("list"), nil) }, func() error { return b.Keep(used) }, b.Sweep} {
		if err := step(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// stored returns how many objects the store has.
func (w *watched) stored() int {
	w.t.Helper()
	entries, err := os.ReadDir(w.files)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(entries)
}

// TestSeldomListed writes snapshots of which each replaces some objects of the one before: what is not used any more is
// removed without a list of all objects for each.
func TestSeldomListed(t *testing.T) {
	shorttest.Proof(t)
	w := watch(t)
	b := w.open()
	for i := range 12 {
		w.replace(b, w.put(b, 3, fmt.Sprint(i)))
	}
	if n := w.stored(); n != 3 {
		t.Errorf("%d objects are left, want 3", n)
	}
	if lists, _ := w.counts(); lists != 1 {
		t.Errorf("12 snapshots asked for %d lists of all objects, want 1", lists)
	}
}

// TestLeftBehind kills a collector that has sent objects and not set a head: another one removes them.
func TestLeftBehind(t *testing.T) {
	shorttest.Proof(t)
	w := watch(t)
	killed := w.open()
	w.put(killed, 5, "killed")
	if err := killed.Send(); err != nil {
		t.Fatal(err)
	}
	b := w.open()
	for i := 0; w.stored() != 2; i++ { // the list comes at some time after the first
		w.replace(b, w.put(b, 2, fmt.Sprint(i)))
	}
	if err := killed.SetHead([]byte("late"), nil); !errors.Is(err, collector.ErrSuperseded) {
		t.Errorf("a head that replaces another one than was read: %v", err)
	}
}

// TestSentOnce interrupts the sending of objects: those that were sent are not sent again.
func TestSentOnce(t *testing.T) {
	shorttest.Proof(t)
	w := watch(t)
	b := w.open()
	const all, most = 200, 100
	used := w.put(b, all, "object")
	w.refuse = most
	if err := b.Send(); err == nil {
		t.Fatal("objects were sent that the store refuses")
	}
	w.mu.Lock()
	tried := w.objects
	w.refuse, w.objects = 0, 0
	w.mu.Unlock()
	w.replace(b, used)
	if _, again := w.counts(); again != all-most {
		t.Errorf("of %d objects %d were tried, %d stored, and %d sent later", all, tried, most, again)
	}
}

// TestOneWrites has two collectors that want to write a snapshot at the same time: one of them does.
func TestOneWrites(t *testing.T) {
	shorttest.Proof(t)
	w := watch(t)
	a, b := w.open(), w.open()
	if err := a.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := b.Begin(); !errors.Is(err, collector.ErrUnderWay) {
		t.Errorf("while another one writes: %v", err)
	}
	w.replace(a, w.put(a, 1, "a"))
	if err := b.Begin(); !errors.Is(err, collector.ErrSuperseded) {
		t.Errorf("after another one has written: %v", err)
	}
	if _, err := b.Heads(); err != nil {
		t.Fatal(err)
	}
	w.replace(b, w.put(b, 1, "b"))
}

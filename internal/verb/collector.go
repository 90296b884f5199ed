package verb

import (
	"context"
	"sync"

	"github.com/cairnprof/cairn/internal/fleet/client"
)

// fetched are files of collectors. A command looks at the beginning of a file, and then reads it: both must be
// from the same moment.
var fetched struct {
	sync.Mutex
	files map[string][]byte
}

// IsURL reports whether a path is the URL of a profile on a collector.
func IsURL(path string) bool { return client.IsURL(path) }

// collector is the client of this process, which keeps connections open.
var collector = sync.OnceValue(client.FromEnvironment)

// StateOf returns a text that changes with a collector's file at a URL, "" if the collector provides none.
func StateOf(ctx context.Context, url string) (string, error) {
	return collector().State(ctx, url)
}

// Forget makes the next command or step fetch the file at a URL again.
func Forget(url string) {
	fetched.Lock()
	defer fetched.Unlock()
	delete(fetched.files, url)
}

// fetch returns a collector's file at a URL.
func fetch(url string) ([]byte, error) {
	fetched.Lock()
	defer fetched.Unlock()
	if data, ok := fetched.files[url]; ok {
		return data, nil
	}
	data, err := collector().Get(context.Background(), url, maxFile)
	if err != nil {
		return nil, err
	}
	if fetched.files == nil {
		fetched.files = make(map[string][]byte)
	}
	fetched.files[url] = data
	return data, nil
}

package verb

import (
	"context"
	"sync"

	"github.com/cairnprof/cairn/internal/fleet/client"
)

// fetched are files of collectors. A command looks at what a file begins with, and then reads
// it: both must be of the same moment.
var fetched struct {
	sync.Mutex
	files map[string][]byte
}

// IsURL reports whether a path is the URL of a profile that a collector has.
func IsURL(path string) bool { return client.IsURL(path) }

// fetch returns the file that a collector has at a URL.
func fetch(url string) ([]byte, error) {
	fetched.Lock()
	defer fetched.Unlock()
	if data, ok := fetched.files[url]; ok {
		return data, nil
	}
	data, err := client.FromEnvironment().Get(context.Background(), url, maxFile)
	if err != nil {
		return nil, err
	}
	if fetched.files == nil {
		fetched.files = make(map[string][]byte)
	}
	fetched.files[url] = data
	return data, nil
}

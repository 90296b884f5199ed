package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// owners has the programs that builds belong to, of those that were asked for last. They do not change, but for builds
// that belong to several.
type owners struct {
	mu sync.Mutex
	of map[prof.BuildID]ownersOf
}

type ownersOf struct {
	names []string
	at    time.Time // when they were read
}

const (
	ownersAge  = time.Second // after which they are read again, unless it is one
	maxOwners  = 1 << 16     // builds that are remembered; at this number all are forgotten
	rememberOf = 1           // owners of a build that do not change any more
)

// ownersOf returns the programs that the builds of files belong to, as far as that is known.
func (g *Gate) ownersOf(ctx context.Context, items []inbox.Item) (map[prof.BuildID][]string, error) {
	o := &g.owners
	found, ask, now := make(map[prof.BuildID][]string), make(map[string]bool), time.Now()
	o.mu.Lock()
	for i := range items {
		id := items[i].Build
		if of, ok := o.of[id]; ok && (len(of.names) == rememberOf || now.Sub(of.at) < ownersAge) {
			found[id] = of.names
		} else {
			ask[id.String()] = true
		}
	}
	o.mu.Unlock()
	if len(ask) == 0 {
		return found, nil
	}
	builds, err := g.c.Builds(ctx, tally.Query{IDs: slices.Sorted(maps.Keys(ask))})
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil || len(o.of)+len(builds) > maxOwners {
		o.of = make(map[prof.BuildID]ownersOf)
	}
	for i := range builds {
		b, err := hex.DecodeString(builds[i].Build)
		if err != nil {
			return nil, err
		}
		id, names := prof.BuildID(b), builds[i].Owners
		found[id], o.of[id] = names, ownersOf{names, now}
	}
	return found, nil
}

// foreignFile returns why a token must not send one of the files: maps and logs have the name of another program, or
// their build belongs to another one. The backend, which knows all files before, decides about builds that are not
// in the list yet.
func (g *Gate) foreignFile(ctx context.Context, grant *Grant, items []inbox.Item) (string, error) {
	if grant.Programs == nil {
		return "", nil
	}
	owners, err := g.ownersOf(ctx, items)
	if err != nil {
		return "", err
	}
	for i := range items {
		if program := items[i].Program; program != "" && !grant.Allows(program) {
			return fmt.Sprintf("the token is not for the program %.80q", program), nil
		}
		names := owners[items[i].Build]
		if names != nil && !grant.AllowsOne(names) {
			return fmt.Sprintf("build %s: %v than the token's", items[i].Build.Short(), tally.ErrForeign), nil
		}
	}
	return "", nil
}

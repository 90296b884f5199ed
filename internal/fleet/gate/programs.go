package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// owners maps builds to the programs that they belong to.
type owners struct {
	mu  sync.Mutex
	of  map[prof.BuildID][]string
	due time.Time // when the list may be read again
}

// listAge is how long a list of builds is used before it is read again.
const listAge = time.Second

// ownersOf returns the programs that a build belongs to, none if that is not known.
func (g *Gate) ownersOf(ctx context.Context, id prof.BuildID) ([]string, error) {
	o := &g.owners
	o.mu.Lock()
	defer o.mu.Unlock()
	if names := o.of[id]; names != nil || time.Now().Before(o.due) {
		return names, nil
	}
	builds, err := g.c.Builds(ctx)
	if err != nil {
		return nil, err
	}
	o.of = make(map[prof.BuildID][]string, len(builds))
	for i := range builds {
		if b, err := hex.DecodeString(builds[i].Build); err == nil {
			o.of[prof.BuildID(b)] = builds[i].Owners
		}
	}
	o.due = time.Now().Add(listAge)
	return o.of[id], nil
}

// foreignFile returns why a token must not send one of the files: maps and logs have the name of another program, or
// their build belongs to another one. The backend, which knows all files before, decides about builds that are not
// in the list yet.
func (g *Gate) foreignFile(ctx context.Context, grant *Grant, items []inbox.Item) (string, error) {
	if grant.Programs == nil {
		return "", nil
	}
	for i := range items {
		if program := items[i].Program; program != "" && !grant.Allows(program) {
			return fmt.Sprintf("the token is not for the program %.80q", program), nil
		}
		names, err := g.ownersOf(ctx, items[i].Build)
		if err != nil {
			return "", err
		}
		if names != nil && !grant.AllowsOne(names) {
			return fmt.Sprintf("build %s: %v than the token's", items[i].Build.Short(), tally.ErrForeign), nil
		}
	}
	return "", nil
}

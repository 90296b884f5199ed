package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/prof"
)

// programs maps builds to their programs, which raw files do not name.
type programs struct {
	mu  sync.Mutex
	of  map[prof.BuildID]string
	due time.Time // when the list may be read again
}

// listAge is how long a list of builds is used before it is read again.
const listAge = time.Second

// programOf returns the program of a build, "" if it is not known.
func (g *Gate) programOf(ctx context.Context, id prof.BuildID) (string, error) {
	p := &g.programs
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := p.of[id]; name != "" || time.Now().Before(p.due) {
		return name, nil
	}
	builds, err := g.c.Builds(ctx)
	if err != nil {
		return "", err
	}
	p.of = make(map[prof.BuildID]string, len(builds))
	for i := range builds {
		if b, err := hex.DecodeString(builds[i].Build); err == nil {
			p.of[prof.BuildID(b)] = builds[i].Program
		}
	}
	p.due = time.Now().Add(listAge)
	return p.of[id], nil
}

// foreignFile returns why a token must not send one of the files. Maps and logs name their program. A raw
// file belongs to the program of its build; files of unknown builds may be sent.
func (g *Gate) foreignFile(ctx context.Context, grant *Grant, items []inbox.Item) (string, error) {
	if grant.Programs == nil {
		return "", nil
	}
	for i := range items {
		program := items[i].Program
		if items[i].Kind == inbox.Raw {
			var err error
			if program, err = g.programOf(ctx, items[i].Build); err != nil {
				return "", err
			}
		}
		if program != "" && !grant.Allows(program) {
			return fmt.Sprintf("the token is not for the program %.80q", program), nil
		}
	}
	return "", nil
}

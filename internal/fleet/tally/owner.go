package tally

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
)

// A build belongs to a program: names in files are labels, which anybody can invent. It is the program whose token
// first sent files of the build. The files of senders that may write to all programs are trusted, so a map or a log of
// theirs names the owner; a raw file has no name. A build has several owners while the token that sent its files
// is for several programs, until a map of such a token has the name of one of them.

// ErrForeign reports a file of a build that belongs to another program than those of its sender.
var ErrForeign = errors.New("the build belongs to another program")

// claim returns the owners of a build once a file is added, and ErrForeign if its sender may not add it.
func (b *build) claim(it *inbox.Item) ([]string, error) {
	if it.Claims == nil {
		if b.Owners == nil && it.Program != "" {
			return []string{it.Program}, nil
		}
		return b.Owners, nil
	}
	mine := it.Claims
	switch {
	case b.Owners != nil:
		mine = nil
		for _, program := range b.Owners {
			if slices.Contains(it.Claims, program) {
				mine = append(mine, program)
			}
		}
		if mine == nil {
			return nil, fmt.Errorf("%w than the token's", ErrForeign)
		}
	case b.Uploads > 0 && it.Kind != inbox.Map:
		// The files before came from one that may write to all programs. Who may send maps decides.
		return nil, nil
	}
	if it.Kind == inbox.Map && slices.Contains(mine, it.Program) {
		return []string{it.Program}, nil
	}
	return mine, nil
}

// CheckOwner returns an error if the sender of a file may not add it to its build.
func (s *State) CheckOwner(it *inbox.Item) error {
	if b := s.builds[it.Build]; b != nil {
		_, err := b.claim(it)
		return err
	}
	return nil
}

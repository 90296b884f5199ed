package tally

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/prof"
)

var (
	// ErrNone reports that there is no such program, build or file.
	ErrNone = errors.New("no such program or build")
	// ErrAmbiguous reports a prefix of several build ids.
	ErrAmbiguous = errors.New("several builds begin with this id")
)

// Select returns the builds of a program whose id, in hexadecimal, begins with prefix; a complete
// id selects that build only. With an empty prefix it returns all builds of the program,
// ascending. If mapped is set, it returns only builds with a map, which have profiles.
func Select(builds []Build, program, prefix string, mapped bool) ([]prof.BuildID, error) {
	var ids []prof.BuildID
	for i := range builds {
		b := &builds[i]
		if mapped && !b.Mapped || b.Program != program || !strings.HasPrefix(b.Build, prefix) {
			continue
		}
		id, err := hex.DecodeString(b.Build)
		if err != nil {
			return nil, fmt.Errorf("build %.40q: %w", b.Build, err)
		}
		if b.Build == prefix {
			return []prof.BuildID{prof.BuildID(id)}, nil
		}
		ids = append(ids, prof.BuildID(id))
	}
	slices.Sort(ids)
	switch {
	case len(ids) == 0:
		return nil, ErrNone
	case len(ids) > 1 && prefix != "":
		return nil, fmt.Errorf("%w: %s and %s", ErrAmbiguous, ids[0], ids[1])
	}
	return ids, nil
}

// Join returns the profile of several builds, each given as the file that State.Profile returns,
// in ascending order of the build ids. The result is what cairn merge writes for the same runs.
func Join(files [][]byte) ([]byte, error) {
	if len(files) == 1 {
		return files[0], nil
	}
	sum := new(prof.Profile)
	for _, data := range files {
		p, err := mip.ReadProfile(data)
		if err != nil {
			return nil, err
		}
		if err := merge.Profiles(sum, p); err != nil {
			return nil, err
		}
	}
	return writeProfile(sum)
}

package gate

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Role is a set of permissions of a token.
type Role uint8

// The roles.
const (
	Write   Role = 1 << iota // send the files of runs
	Publish                  // send maps, which determine the meaning of raw files
	Read                     // get profiles and maps
	Backup                   // copy everything
)

var roleNames = map[string]Role{"write": Write, "publish": Publish, "read": Read, "backup": Backup}

// String returns the names of the roles.
func (r Role) String() string {
	var names []string
	for _, name := range []string{"write", "publish", "read", "backup"} {
		if r&roleNames[name] != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Grant is the permission of a token.
type Grant struct {
	Role
	Programs map[string]bool // nil for all
	Name     string          // of the token in audit logs: the first digits of its SHA-256
}

// Allows reports whether a grant covers a program.
func (g *Grant) Allows(program string) bool { return g.Programs == nil || g.Programs[program] }

// AllowsOne reports whether a grant covers all programs, or one of these.
func (g *Grant) AllowsOne(programs []string) bool {
	return g.Programs == nil || slices.ContainsFunc(programs, g.Allows)
}

// claims returns the programs of a grant, nil for all.
func (g *Grant) claims() []string { return slices.Sorted(maps.Keys(g.Programs)) }

// Tokens are the known tokens by their SHA-256, so that the time of a search reveals nothing
// about a token.
type Tokens map[[sha256.Size]byte]Grant

const minToken = 16 // bytes

// ParseTokens reads a list of tokens. A line has roles, separated by commas, a token, and the
// programs that it is for, none for all.
func ParseTokens(r io.Reader, name string) (Tokens, error) {
	tokens := Tokens{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 || len(fields[1]) < minToken {
			return nil, fmt.Errorf("%s:%d: expected roles and a token of at least %d characters", name, n, minToken)
		}
		roles := Role(0)
		for word := range strings.SplitSeq(fields[0], ",") {
			role, ok := roleNames[word]
			if !ok {
				return nil, fmt.Errorf("%s:%d: %.40q is not a role: write, publish, read and backup are", name, n, word)
			}
			roles |= role
		}
		if roles&Backup != 0 && len(fields) > 2 {
			return nil, fmt.Errorf("%s:%d: a token with role backup is for all programs", name, n)
		}
		sum := sha256.Sum256([]byte(fields[1]))
		if _, ok := tokens[sum]; ok {
			return nil, fmt.Errorf("%s:%d: the token is there already", name, n)
		}
		grant := Grant{Role: roles, Name: hex.EncodeToString(sum[:4])}
		for _, program := range fields[2:] {
			if grant.Programs == nil {
				grant.Programs = make(map[string]bool)
			}
			grant.Programs[program] = true
		}
		tokens[sum] = grant
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s: no token in it", name)
	}
	return tokens, nil
}

func (t Tokens) grant(token string) Grant { return t[sha256.Sum256([]byte(token))] }

package gate

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
)

// Role is what a token allows; a set of them.
type Role uint8

// The roles.
const (
	Write   Role = 1 << iota // send what runs left
	Publish                  // send maps, which decide what runs mean
	Read                     // ask for profiles and maps
)

var roleNames = map[string]Role{"write": Write, "publish": Publish, "read": Read}

// String returns the names of the roles.
func (r Role) String() string {
	var names []string
	for _, name := range []string{"write", "publish", "read"} {
		if r&roleNames[name] != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// Tokens are the tokens that are known, by their SHA-256: how long a search in it takes tells
// nothing of a token.
type Tokens map[[sha256.Size]byte]Role

const minToken = 16 // bytes

// ParseTokens reads a list of tokens: on each line roles, separated by commas, and a token.
func ParseTokens(r io.Reader, name string) (Tokens, error) {
	tokens := Tokens{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 || len(fields[1]) < minToken {
			return nil, fmt.Errorf("%s:%d: not roles and a token of at least %d characters", name, n, minToken)
		}
		roles := Role(0)
		for word := range strings.SplitSeq(fields[0], ",") {
			role, ok := roleNames[word]
			if !ok {
				return nil, fmt.Errorf("%s:%d: %.40q is not a role: write, publish and read are", name, n, word)
			}
			roles |= role
		}
		tokens[sha256.Sum256([]byte(fields[1]))] |= roles
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s: no token in it", name)
	}
	return tokens, nil
}

func (t Tokens) roles(token string) Role { return t[sha256.Sum256([]byte(token))] }

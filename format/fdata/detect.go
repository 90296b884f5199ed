package fdata

import (
	"bytes"
	"strings"
)

// Kind is a kind of input of BOLT.
type Kind uint8

// The kinds.
const (
	Other      Kind = iota
	Profile         // what llvm-bolt reads: the text of this package, or YAML
	Aggregated      // samples that were counted for perf2bolt --pa
)

// Detect returns the kind of a file that begins with head. All lines of text must be of one kind.
func Detect(head []byte) Kind {
	if isYAML(head) && bytes.Contains(head, []byte("\n  profile-version:")) {
		return Profile
	}
	i := bytes.LastIndexByte(head, '\n')
	if i < 0 {
		return Other
	}
	found := Other
	for line := range bytes.Lines(head[:i+1]) {
		k := kindOf(strings.Fields(strings.ReplaceAll(string(line), `\ `, "_"))) // names have their blanks escaped
		if k == Other || found != Other && k != found {
			return Other
		}
		found = k
	}
	return found
}

// isYAML reports whether a file begins as LLVM writes YAML, with blanks up to the column of values.
func isYAML(head []byte) bool {
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	second, _, ok := bytes.Cut(rest, []byte("\n"))
	return ok && string(bytes.TrimRight(first, "\r")) == "---" && string(bytes.TrimRight(second, " \r")) == "header:"
}

// kindOf returns the kind of a line of which fields are the words.
func kindOf(fields []string) Kind {
	if len(fields) == 0 {
		return Other
	}
	first, rest := fields[0], fields[1:]
	switch {
	case first == "no_lbr" || first == "boltedcollection" && len(rest) == 0:
		return Profile
	case isAggregated(first, rest):
		return Aggregated
	}
	const sample, branch = 4, 8 // words
	switch len(fields) {
	case sample:
		if isPlace(fields) && isNumber(fields[3], 10) {
			return Profile
		}
	case branch:
		if isPlace(fields) && isPlace(fields[3:]) && isNumber(fields[6], 10) && isNumber(fields[7], 10) {
			return Profile
		}
	}
	return Other
}

// isPlace reports whether words begin with a kind of place, a name and an offset.
func isPlace(fields []string) bool {
	return len(fields[0]) == 1 && fields[0] >= "0" && fields[0] <= "5" && isNumber(fields[2], 16)
}

// aggregated are the numbers of addresses and counts after the letter of a line (bolt/Profile/DataAggregator.h).
var aggregated = map[string]struct{ addresses, counts int }{
	"B": {2, 2}, "F": {2, 1}, "f": {2, 1}, "T": {3, 1}, "R": {3, 1}, "r": {2, 1}, "S": {1, 1},
}

func isAggregated(letter string, fields []string) bool {
	if letter == "E" {
		return len(fields) == 1 // names of events
	}
	form, ok := aggregated[letter]
	if !ok || len(fields) != form.addresses+form.counts {
		return false
	}
	for i, f := range fields {
		switch {
		case i >= form.addresses && !isNumber(f, 10):
			return false
		case i < form.addresses && !isNumber(f[strings.IndexByte(f, ':')+1:], 16):
			return false
		}
	}
	return true
}

// isNumber reports whether s has digits only.
func isNumber(s string, base int) bool {
	digits, most := "0123456789", 20
	if base == 16 {
		digits, most = "0123456789abcdefABCDEF", 16
	}
	return s != "" && len(s) <= most && strings.Trim(s, digits) == ""
}

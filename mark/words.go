//go:build cairn

package mark

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// applyWords applies a list of words of CAIRN_SPIKE while the program runs. If a word is invalid, it applies none and
// returns that word.
func applyWords(words []string) (wrong string) {
	for _, w := range words {
		if !change(w, false) {
			return w
		}
	}
	for _, w := range words {
		change(w, true)
	}
	return ""
}

// change applies a word that is valid at any time; without do it only checks it.
func change(word string, do bool) bool {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case word == "":
		return true
	case word == "on" || word == "off":
		if do {
			off.Store(word == "off")
		}
		return true
	case name == "rate":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return false
		}
		if do {
			report.mu.Lock()
			report.rate = n
			report.mu.Unlock()
		}
		return true
	case name == "budget":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Hour {
			return false
		}
		if do {
			report.mu.Lock()
			report.budget = int64(d)
			report.mu.Unlock()
		}
		return true
	case name == "threshold":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Hour {
			return false
		}
		if do {
			SetThreshold(d)
		}
		return true
	}
	return channels.word(word, do)
}

// word applies a word about channels: +ai, -ai, channels=ai+net. Words are also stored for channels that are
// created later.
func (c *channelSet) word(word string, do bool) bool {
	list, isList := strings.CutPrefix(word, "channels=")
	if !isList && (len(word) < 2 || word[0] != '+' && word[0] != '-') {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := isList || len(c.names) == 0
	for i, name := range c.names {
		if on, about := says(word, name); about {
			known = true
			if do {
				(Bit(1) << i).Set(on)
			}
		}
	}
	const most = 64
	if !known || len(list) > 500 || len(c.words) >= most && !isList && len(c.names) == 0 {
		return false
	}
	if do {
		// It replaces earlier words about the channel.
		c.words = slices.DeleteFunc(c.words, func(old string) bool { return isList || old[1:] == word[1:] })
	}
	if do && len(c.words) < most {
		c.words = append(c.words, word)
	}
	return true
}

// says reports whether a word is about a channel, and whether it switches that on.
func says(word, name string) (on, about bool) {
	if list, ok := strings.CutPrefix(word, "channels="); ok {
		for n := range strings.SplitSeq(list, "+") {
			on = on || n == name
		}
		return on, true
	}
	return word[0] == '+', word[1:] == name
}

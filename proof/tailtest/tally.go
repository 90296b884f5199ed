package tailtest

import "fmt"

// Tally counts pairs by result. Each pair of each sample counts.
type Tally struct {
	// Pairs with missing frames; of these, those whose chain was found exactly, as another
	// chain, or not at all.
	Missing, Exact, Wrong, None int
	// Pairs without missing frames, and those of them for which frames were inserted.
	Plain, False int
	// Rules counts the exact chains by rule.
	Rules map[string]int
	// Misses counts the chains that were not found or wrong, by pair.
	Misses map[Miss]int

	distinct map[string]bool // different pairs with missing frames: whether all were exact
}

// Miss is a pair that was not found.
type Miss struct {
	Call, Next ref
	Got        string // the rule of the inserted frames; "" if there are none
}

// Distinct returns the number of different pairs of call, chain and next frame, and of those
// whose chain was always found exactly.
func (t *Tally) Distinct() (pairs, exact int) {
	for _, always := range t.distinct {
		if always {
			exact++
		}
	}
	return len(t.distinct), exact
}

// Add adds the counts of another program's tally, except its Misses and distinct pairs.
func (t *Tally) Add(o *Tally) {
	t.Missing, t.Exact, t.Wrong, t.None = t.Missing+o.Missing, t.Exact+o.Exact, t.Wrong+o.Wrong, t.None+o.None
	t.Plain, t.False = t.Plain+o.Plain, t.False+o.False
	if t.Rules == nil {
		t.Rules = map[string]int{}
	}
	for rule, n := range o.Rules {
		t.Rules[rule] += n
	}
}

// String returns the counts in a line.
func (t *Tally) String() string {
	s := fmt.Sprintf("%d missing, exact %.2f%% (%v), wrong %d, none %d; %d plain, false %d",
		t.Missing, 100*float64(t.Exact)/float64(max(t.Missing, 1)), t.Rules, t.Wrong, t.None, t.Plain, t.False)
	if pairs, exact := t.Distinct(); pairs > 0 {
		s += fmt.Sprintf("; distinct %d of %d", exact, pairs)
	}
	return s
}

// compare counts the pairs of a stack, from the innermost outwards, while its frames are
// correct.
func (t *Tally) compare(got, want *stack, same func(a, b []ref) bool) {
	g, w := len(got.frames)-1, len(want.frames)-1
	if got.frames[g] != want.frames[w] {
		return
	}
	for g, w = g-1, w-1; g >= 0 && w >= 0 && got.frames[g] == want.frames[w]; g, w = g-1, w-1 {
		exact := same(want.jumps[w], got.jumps[g])
		t.pair(Miss{want.frames[w], want.frames[w+1], got.rules[g]}, want.jumps[w], got.jumps[g], exact)
	}
}

// pair counts a call and the next frame, between which got was inserted.
func (t *Tally) pair(at Miss, want, got []ref, exact bool) {
	switch {
	case len(want) == 0 && exact:
		t.Plain++
		return
	case len(want) == 0:
		t.Plain++
		t.False++
	default:
		key := fmt.Sprint(at.Call, want, at.Next)
		before, known := t.distinct[key]
		t.distinct[key] = exact && (before || !known)
		t.Missing++
		switch {
		case exact:
			t.Exact++
			if t.Rules == nil {
				t.Rules = map[string]int{}
			}
			t.Rules[at.Got]++
			return
		case len(got) == 0:
			t.None++
		default:
			t.Wrong++
		}
	}
	if t.Misses == nil {
		t.Misses = map[Miss]int{}
	}
	t.Misses[at]++
}

package callstack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// follow applies words to a stack: "+a" begins a call of a, "-a" is an exit of it, "^a" control arrives in it,
// "~" says that the innermost call jumped to the next, "||" begins a block. It returns what is open after each
// exit, and its meaning.
func follow(s *Stack[uint32, int], text string) (got []string) {
	for i, word := range strings.Fields(text) {
		fn := uint32(word[len(word)-1])
		switch word[0] {
		case '+':
			begin(s, fn, i)
		case '|':
			s.Block()
		case '~':
			s.Jump(len(s.Frames) - 1)
		default:
			means := end(s, fn, word[0] == '^')
			open := ""
			for _, f := range s.Frames {
				open += string(rune(f.Func))
			}
			got = append(got, fmt.Sprint([...]string{"found", "nowhere", "gap", "below", "beyond"}[means], " ", open))
		}
	}
	return got
}

func begin(s *Stack[uint32, int], fn uint32, data int) {
	if s.Tight() && !s.Ready(fn) {
		s.Over++
		return
	}
	s.Push(fn).Data = data
}

// end ends calls as all followers do.
func end(s *Stack[uint32, int], fn uint32, arrives bool) Meaning {
	keep, means := s.Exit(fn, arrives)
	if means == Found && !arrives {
		keep--
	}
	for len(s.Frames) > keep {
		s.Pop()
	}
	return means
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, log, want string
		unknown         bool
		limit           int
	}{
		{name: "pairs", log: "+a +b -b -a", want: "found a, found "},
		{name: "calls without exits", log: "+m +a +b -m", want: "found "},
		{name: "the innermost one ends", log: "+a +b +a +b -a", want: "found ab"},
		{name: "arrival", log: "+m +a +b ^m -b -m", want: "found m, nowhere m, found "},
		{name: "exit of no call", log: "+m -x", want: "nowhere m"},
		{name: "a jump", log: "+m +a ~ +b -b -a -m", want: "found ma, nowhere ma, found "},
		{name: "a block that goes on", log: "+m +a || -a -x", want: "found m, nowhere m"},
		{name: "a gap", log: "+m +a || +b -b -x -m", want: "found ma, gap , nowhere "},
		{name: "calls since the border are open", log: "+m || +a -x", want: "nowhere ma"},
		{name: "an arrival below the border confirms it", log: "+m +a || ^m +b -x -b -m", want: "found m, nowhere mb, found m, found "},
		{name: "an arrival at the border confirms it", log: "+m +a || ^a -x -a", want: "found ma, nowhere ma, found m"},
		{name: "an arrival above it does not", log: "+m || +a ^a -a -x", want: "found ma, found m, gap "},
		{name: "an arrival in no call after a gap", log: "+m || ^x", want: "gap "},
		{name: "an unknown stack", log: "+a -b ^c -a -a", want: "below a, below a, found , below ", unknown: true},
		{name: "too deep", log: "+a +b +c +d -d ^a -c -b -a", want: "beyond ab, beyond ab, beyond ab, found a, found ", limit: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, looked := range []int{0, MaxLooked} {
				s := New[uint32, int]()
				s.Unknown, s.MaxLooked = c.unknown, looked
				if c.limit > 0 {
					s.Limit = c.limit
				}
				if got := strings.Join(follow(&s, c.log), ", "); got != c.want {
					t.Errorf("%s, looked at %d:\n got %s\nwant %s", c.log, looked, got, c.want)
				}
			}
		})
	}
}

// TestCounted checks that a stack that counts the frames of its functions, one that is copied now and then, and
// one that searches all frames always agree.
func TestCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		plain, counted := New[uint32, int](), New[uint32, int]()
		counted.MaxLooked = rapid.IntRange(0, 3).Draw(rt, "looked")
		plain.Limit = rapid.IntRange(1, 9).Draw(rt, "limit")
		counted.Limit = plain.Limit
		for i := range rapid.IntRange(0, 80).Draw(rt, "events") {
			fn := uint32(rapid.IntRange(1, 4).Draw(rt, "function"))
			switch what := rapid.IntRange(0, 11).Draw(rt, "what"); what {
			case 0:
				plain.Block()
				counted.Block()
			case 1:
				counted = counted.Clone()
			case 2:
				if at := len(plain.Frames) - 1; at >= 0 && !plain.Frames[at].Jumped {
					plain.Jump(at)
					counted.Jump(at)
				}
			case 3, 4, 5, 6, 7:
				begin(&plain, fn, i)
				begin(&counted, fn, i)
			default:
				want := end(&plain, fn, what == 8)
				if got := end(&counted, fn, what == 8); got != want {
					rt.Fatalf("event %d means %d, want %d", i, got, want)
				}
			}
			if !slices.Equal(counted.Frames, plain.Frames) || counted.Border() != plain.Border() || counted.Over != plain.Over {
				rt.Fatalf("after event %d\n%+v, want\n%+v", i, counted, plain)
			}
		}
	})
}

// stack is a stack of a thread with several.
type stack struct {
	Keys
	name string
}

// TestSwitches checks which stack runs after "<7", the event before a change with the key 7, and ">7", that
// after it. A stack that begins, as "*b", is one that the log has not told.
func TestSwitches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, log, want string }{
		{"two stacks", "<1 *b <2 >1 <1 >2", "back a, back b"},
		{"a stack that is not known", "<1 >5", "other"},
		{"nothing was left", ">5", "stays"},
		{"a stack that was left for good", "<1 *b >1", "left a"},
		{"it goes on where it was", "<1 >1", "stays"},
		{"setcontext: it goes on at an earlier place", "<1 *b <2 >1 <0 >2 <2 >1", "back a, back b, back a"},
		{"setcontext from a stack without a place", "<0 *b <2 >0", "stays"},
		{"four places are kept", "<1 >1 <2 >2 <3 >3 <4 >4 <5 *b <6 >2", "stays, stays, stays, stays, back a"},
		{"and no more", "<1 >1 <2 >2 <3 >3 <4 >4 <5 *b <6 >1", "stays, stays, stays, stays, other"},
		{"the memory of a stack is used again", "<1 *b <2 *c <1 >2 <2 >1", "gone a, back b, back c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := NewSwitches(&stack{name: "a"})
			var got []string
			for _, word := range strings.Fields(c.log) {
				key := uint32(word[1] - '0')
				switch word[0] {
				case '<':
					if gone, is := w.Suspend(key); is {
						w.Forget(gone)
						got = append(got, "gone "+gone.name)
					}
				case '*':
					w.To(&stack{name: word[1:]})
				default:
					next, means := w.Resume(key)
					text := [...]string{"stays", "other", "back", "left"}[means]
					if means == Back || means == Left {
						text += " " + next.name
						w.To(next)
					}
					got = append(got, text)
				}
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.log, got, c.want)
			}
		})
	}
}

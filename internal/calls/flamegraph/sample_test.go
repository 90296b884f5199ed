package flamegraph

import (
	"fmt"
	"math/rand/v2"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// randomTrie makes a trie of about n nodes from a few functions that call each other. The time
// of a node includes the calls below it.
func randomTrie(seed uint64, n, functions int) *calltrie.Trie {
	r := rand.New(rand.NewPCG(seed, 1))
	t := calltrie.New()
	type open struct {
		id    calltrie.NodeID
		depth int
	}
	ids := []open{{calltrie.Root, 0}}
	for t.Len() < n {
		// Deep more often than wide.
		at := ids[max(r.IntN(len(ids)), r.IntN(len(ids)))]
		fn := calllog.FuncID(1 + min(r.IntN(functions), r.IntN(functions)))
		if at.depth == 0 {
			fn = calllog.FuncID(1 + r.IntN(2))
		}
		before := t.Len()
		id := t.Child(at.id, fn)
		if t.Len() > before && at.depth < 60 {
			ids = append(ids, open{id, at.depth + 1})
		}
	}
	// From the leaves up, so that a call contains its callees.
	below := make([]uint64, t.Len())
	for i := t.Len() - 1; i > 0; i-- {
		node := t.Node(calltrie.NodeID(i))
		self := uint64(r.ExpFloat64() * 40_000)
		calls := uint64(1 + r.IntN(1+r.IntN(30)))
		whole := below[i] + self
		for k := range calls {
			total, own := whole/calls, self/calls
			if k == 0 {
				total, own = whole-whole/calls*(calls-1), self-self/calls*(calls-1)
			}
			node.Add(total, own)
		}
		below[node.Parent] += whole
	}
	return t
}

// names as programs have them.
var (
	verbs = []string{"Open", "Close", "Parse", "Step", "Bind", "Seek", "Read", "Write", "Hash", "Insert", "Find", "Balance"}
	nouns = []string{"Page", "Btree", "Cursor", "Token", "Expr", "Table", "Index", "Record", "Frame", "Cache"}
)

func sampleName(id calllog.FuncID) string {
	i := int(id)
	switch {
	case i == 1:
		return "main"
	case i == 2:
		return "worker(void*)"
	case i%7 == 3:
		return fmt.Sprintf("std::map<std::string, db::%s>::%s(db::%s const&)", nouns[i%10], verbs[i%12], nouns[i/7%10])
	case i%5 == 4:
		return fmt.Sprintf("db::%s::%s()", nouns[i%10], verbs[i/3%12])
	}
	return fmt.Sprintf("sqlite3%s%s", nouns[i/2%10], verbs[i%12]) + map[bool]string{true: fmt.Sprint(i), false: ""}[i > 60]
}

func sampleProfile(n int) *Profile {
	t := randomTrie(7, n, 140)
	for id, node := range t.Nodes() {
		if id%23 == 3 {
			node.Deduced++
		}
	}
	return &Profile{
		Title: "demo.log", Unit: "ns", Name: sampleName,
		Notes:  []string{"1,234,567 calls in 4 threads.", "12 calls have no exit in the log."},
		Groups: []Group{{Trie: t}},
	}
}

func sampleThreads(n int) *Profile {
	p := sampleProfile(n)
	p.Groups = nil
	for i := range 4 {
		p.Groups = append(p.Groups, Group{Label: fmt.Sprintf("thread %d", 1200+i), Trie: randomTrie(uint64(i), n/(i+1), 140)})
	}
	return p
}

// sampleDiff makes a Diff of two tries. The second has other times.
func sampleDiff(n int) *Diff {
	d := &Diff{Title: "before.log and after.log", Unit: "ns", Before: "before.log", After: "after.log"}
	for id := range 150 {
		d.Names = append(d.Names, sampleName(calllog.FuncID(id)))
	}
	r := rand.New(rand.NewPCG(3, 4))
	t := randomTrie(9, n, 140)
	for id, node := range t.Nodes() {
		a, b := node.Stats, node.Stats
		switch {
		case id%41 == 7 && id > 20:
			a = calltrie.Stats{}
		case id%41 == 17 && id > 20:
			b = calltrie.Stats{}
		case id%6 == 0:
			more := uint64(r.ExpFloat64() * 20_000)
			if id%12 == 0 {
				b.Self += more
				b.Total += more
			} else {
				more = min(more, b.Self)
				b.Self -= more
				b.Total -= more
			}
		}
		d.Nodes = append(d.Nodes, DiffNode{Func: int(node.Func), Parent: int(node.Parent) - 1, A: a, B: b})
	}
	return d
}

// sampled is a profile of samples, with a function of each kind.
func sampled() *Profile {
	trie := calltrie.New()
	at := calltrie.Root
	names := []string{"", "main", "f [inferred]", "in [inlined]", "read [kernel]"}
	left := uint64(12)
	for i, self := range []uint64{5, 2, 1, 4} {
		at = trie.Child(at, calllog.FuncID(i+1))
		trie.Node(at).Total, trie.Node(at).Self = left, self
		left -= self
	}
	return &Profile{
		Title: "app", Unit: Samples, Sampled: true, Groups: []Group{{Trie: trie}},
		Name: func(id calllog.FuncID) string { return names[id] },
		Kind: func(id calllog.FuncID) Kind { return []Kind{Plain, Plain, Restored, Inlined, Kernel}[id] },
	}
}

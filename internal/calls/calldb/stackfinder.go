package calldb

import "github.com/cairnprof/cairn/internal/calls/calltrie"

// stackFinder finds the nodes of a replay's trie in the trie of all threads.
type stackFinder struct {
	all, trie *calltrie.Trie
	root      calltrie.NodeID // of the thread, in all
	folds     int
	where     []foundStack
}

// foundStack is the place of a stack, or, if it was folded, of its innermost caller that is in the trie of all
// threads.
type foundStack struct {
	calltrie.NodeID
	lost bool
}

// begin prepares for another trie.
func (s *stackFinder) begin(trie *calltrie.Trie) {
	s.trie, s.folds, s.where = trie, trie.Folds(), append(s.where[:0], foundStack{NodeID: s.root})
}

func (s *stackFinder) find(node calltrie.NodeID) foundStack {
	if s.trie.Folds() != s.folds {
		s.begin(s.trie)
	}
	for next := calltrie.NodeID(len(s.where)); next <= node; next++ {
		n := s.trie.Node(next)
		at := s.where[n.Parent]
		if id, ok := s.all.Find(at.NodeID, n.Func); ok && !at.lost {
			at.NodeID = id
		} else {
			at.lost = true
		}
		s.where = append(s.where, at)
	}
	return s.where[node]
}

// outermost reports whether a function is not among its callers.
func (s *stackFinder) outermost(node calltrie.NodeID) bool {
	n := s.trie.Node(node)
	for up := n.Parent; up != calltrie.Root; up = s.trie.Node(up).Parent {
		if s.trie.Node(up).Func == n.Func {
			return false
		}
	}
	return true
}

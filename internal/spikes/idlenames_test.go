package spikes

import "testing"

// TestIdleNames decides by the functions of Go's library in a stack: the innermost that tells is the one that counts.
func TestIdleNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stack []string
		want  Idleness
	}{
		{[]string{"main.next", "main.worker"}, Doubtful},
		{[]string{"main.delay", "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"}, Working},
		{[]string{"net/http.(*conn).readRequest", "net/http.(*conn).serve"}, Idle},
		{[]string{"net.(*Resolver).lookupHost", "net.(*Resolver).LookupHost", "main.resolve"}, Working},
		{[]string{"net.(*netFD).accept", "main.serve"}, Idle},
	} {
		addrs := make([]Address, len(test.stack))
		for i := range addrs {
			addrs[i].Offset = uint64(i)
		}
		got := idleNames(addrs, func(a Address, _ bool) Location {
			return Location{Places: []Place{{Symbol: test.stack[a.Offset], Function: test.stack[a.Offset]}}}
		})
		if got != test.want {
			t.Errorf("%v: %d, want %d", test.stack, got, test.want)
		}
	}
}

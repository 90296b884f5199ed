package shorttest

import "sync"

// Memo has what the tests of a package share, by key: each value is made once. The zero Memo is empty.
type Memo[V any] struct{ values sync.Map }

// Get returns the value of a key, which the first call makes while others wait for it. An error is kept as well.
func (m *Memo[V]) Get(key string, make func() (V, error)) (V, error) {
	value, _ := m.values.LoadOrStore(key, sync.OnceValues(make))
	return value.(func() (V, error))()
}

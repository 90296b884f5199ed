package gate

import (
	"net"
	"sync"
	"sync/atomic"
)

// Connections is a listener that bounds the connections, which have memory and a file descriptor each before they send
// anything. An address may have as many as are free: no single one, of which there are many devices behind a
// router, keeps others out. What is too much is closed at once.
type Connections struct {
	net.Listener
	most    int
	refused atomic.Uint64

	mu   sync.Mutex
	open int
	of   map[string]int // by address
}

// NewConnections returns a listener for most connections.
func NewConnections(l net.Listener, most int) *Connections {
	return &Connections{Listener: l, most: most, of: make(map[string]int)}
}

// Refused returns how many connections were closed at once.
func (c *Connections) Refused() uint64 { return c.refused.Load() }

// Accept waits for the next connection that is not too much.
func (c *Connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err == nil && c.reserve(host) {
			return &connection{Conn: conn, release: sync.OnceFunc(func() { c.giveBack(host) })}, nil
		}
		c.refused.Add(1)
		conn.Close()
	}
}

func (c *Connections) reserve(host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[host] >= c.most-c.open {
		return false
	}
	c.open++
	c.of[host]++
	return true
}

func (c *Connections) giveBack(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.of[host]--; c.of[host] == 0 {
		delete(c.of, host)
	}
}

// connection is one that was accepted.
type connection struct {
	net.Conn
	release func()
}

func (c *connection) Close() error {
	defer c.release()
	return c.Conn.Close()
}

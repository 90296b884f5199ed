package gate

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// dialFrom opens a connection from an address of this machine, and reports whether the server keeps it.
func dialFrom(t *testing.T, from, to string) (net.Conn, bool) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		return conn, false
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err = conn.Read(make([]byte, 1<<10))
	return conn, err == nil
}

// TestConnections lets one address hold all the connections that it can get. Another one gets some, and the first gets
// more when it has closed its own.
func TestConnections(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const most = 40
	c := NewConnections(l, most)
	server := &http.Server{Handler: http.NotFoundHandler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(c) }()
	t.Cleanup(func() { server.Close(); <-ended })
	hold := func(from string) (held []net.Conn) {
		for range most {
			if conn, ok := dialFrom(t, from, l.Addr().String()); ok {
				held = append(held, conn)
			}
		}
		return held
	}
	first := hold("127.0.0.1")
	if len(first) != most/2 {
		t.Errorf("one address holds %d of %d connections", len(first), most)
	}
	if second := hold("127.0.0.2"); len(second) != most/4 {
		t.Errorf("another one holds %d", len(second))
	}
	if c.Refused() != most/2+most*3/4 {
		t.Errorf("%d refused", c.Refused())
	}
	for _, conn := range first {
		conn.Close()
	}
	for end := time.Now().Add(time.Minute); ; {
		if _, ok := dialFrom(t, "127.0.0.1", l.Addr().String()); ok {
			break
		}
		if time.Now().After(end) {
			t.Fatal("closed connections still count")
		}
	}
}

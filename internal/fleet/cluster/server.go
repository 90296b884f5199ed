package cluster

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/cairnprof/cairn/internal/fleet/journal/stream"
)

// Node is a node of a cluster: its name, and the address at which the others reach it.
type Node struct{ Name, Addr string }

// ParseNodes reads a list such as "a=10.0.0.1:7475,b=10.0.0.2:7475,c=10.0.0.3:7475".
func ParseNodes(text string) ([]Node, error) {
	var nodes []Node
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		name, addr, _ := strings.Cut(part, "=")
		if _, port, err := net.SplitHostPort(addr); name == "" || err != nil || port == "" || strings.ContainsAny(name, ".*> \t") {
			return nil, fmt.Errorf("%q is not NAME=HOST:PORT", part)
		}
		if seen[name] || seen[addr] {
			return nil, fmt.Errorf("%q repeats a name or an address", part)
		}
		seen[name], seen[addr] = true, true
		nodes = append(nodes, Node{name, addr})
	}
	if len(nodes) < 3 {
		return nil, fmt.Errorf("%d nodes: a cluster has at least three, so that it survives the loss of one", len(nodes))
	}
	return nodes, nil
}

// Embedded are the settings of the server in this process.
type Embedded struct {
	Dir      string // of its files
	Nodes    []Node
	Secret   string      // that nodes show each other, may be empty
	TLS      *tls.Config // of connections between nodes, may be nil
	MaxStore int64       // bytes of all streams, 0 for three quarters of what is free
}

// start starts the server of a node. A server (nats-server 2.15) accepts connections of other nodes only if it
// listens for clients as well. It does so on loopback, and only this process knows the token.
func (e *Embedded) start(node, token string, log *slog.Logger) (*server.Server, error) {
	options := &server.Options{
		ServerName: node, Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: token, NoSigs: true, MaxPayload: stream.MaxPayload, MaxPending: 4 * stream.MaxPayload,
		JetStream: true, StoreDir: filepath.Join(e.Dir, "jetstream"), SyncAlways: true, JetStreamMaxStore: e.MaxStore,
	}
	for _, n := range e.Nodes {
		route := &url.URL{Scheme: "nats", Host: n.Addr}
		if e.Secret != "" {
			route.User = url.UserPassword("cairn", e.Secret)
		}
		if n.Name != node {
			options.Routes = append(options.Routes, route)
			continue
		}
		host, port, err := net.SplitHostPort(n.Addr)
		if err != nil {
			return nil, err
		}
		options.Cluster = server.ClusterOpts{Name: "cairn", Host: bindAddress(host), NoAdvertise: true, TLSConfig: e.TLS, PingInterval: 5 * time.Second, MaxPingsOut: 2}
		if options.Cluster.Port, err = strconv.Atoi(port); err != nil {
			return nil, err
		}
		if e.Secret != "" {
			options.Cluster.Username, options.Cluster.Password, options.Cluster.AuthTimeout = "cairn", e.Secret, 5
		}
		if e.TLS != nil {
			options.Cluster.TLSTimeout = 10
		}
	}
	if options.Cluster.Name == "" {
		return nil, fmt.Errorf("%s is not in the list of nodes", node)
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, err
	}
	s.SetLoggerV2(&serverLog{log}, false, false, false)
	s.Start()
	const recovery = 5 * time.Minute // of large streams
	if !s.ReadyForConnections(recovery) {
		s.Shutdown()
		return nil, errors.New("the embedded NATS server does not start")
	}
	return s, nil
}

// bindAddress returns the address to listen on for a host of the list. A name may belong to an
// address that is not this machine's own, as behind a service: then it is every address.
func bindAddress(host string) string {
	if net.ParseIP(host) != nil || host == "localhost" {
		return host
	}
	return "0.0.0.0"
}

// serverLog writes what the server finds wrong. It reports the loss of other nodes once a
// second, so that only errors are more than debug messages.
type serverLog struct{ log *slog.Logger }

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}
func (l *serverLog) Warnf(format string, args ...any) {
	l.log.Debug("nats: " + fmt.Sprintf(format, args...))
}

func (l *serverLog) Errorf(format string, args ...any) {
	l.log.Debug("nats: " + fmt.Sprintf(format, args...))
}

func (l *serverLog) Fatalf(format string, args ...any) {
	l.log.Error("nats: " + fmt.Sprintf(format, args...))
}

//go:build !nocluster

package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/cairnprof/cairn/internal/fleet/journal/stream"
)

// start starts the server of a node. A server (nats-server 2.15) accepts connections of other nodes only if it
// listens for clients as well. It does so on loopback, and only this process knows the token.
func (e *Embedded) start(node, token string, log *slog.Logger) (natsServer, error) {
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

// bindAddress returns the address to listen on for a host of the list. A name may resolve to an
// address that is not this machine's own, such as that of a service. So for a name it is the
// address of all interfaces.
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

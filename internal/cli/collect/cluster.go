package collect

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/fleet/cluster"
	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/verb"
)

// clusterFlags are the settings of a node of a cluster.
type clusterFlags struct {
	nodes, node, secret, prefix  string
	routeCert, routeKey, routeCA string
	server, creds                string
	shards, replicas             int
	maxStore                     verb.SizeFlag
	list                         []cluster.Node
	secretText                   string
}

func (f *clusterFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.nodes, "cluster", "", "the nodes of the cluster, a `list` of NAME=HOST:PORT separated by commas")
	flags.StringVar(&f.node, "node", "", "the `name` of this node")
	flags.StringVar(&f.secret, "cluster-secret", "", "the `file` with the secret by which nodes authenticate; required for addresses that are not loopback")
	flags.StringVar(&f.routeCert, "cluster-cert", "", "TLS certificate of connections between nodes, a PEM `file`")
	flags.StringVar(&f.routeKey, "cluster-key", "", "private key of --cluster-cert, a PEM `file`")
	flags.StringVar(&f.routeCA, "cluster-ca", "", "the authority that signed the certificates of the nodes, a PEM `file`")
	flags.StringVar(&f.server, "nats", "", "use the NATS server with JetStream at this `URL`, instead of --cluster")
	flags.StringVar(&f.creds, "nats-creds", "", "credentials for the NATS server, a `file`")
	flags.StringVar(&f.prefix, "nats-prefix", "cairn", "first part of the `names` of streams and subjects")
	flags.IntVar(&f.shards, "shards", 6, "the number of shards, when the cluster is created")
	flags.IntVar(&f.replicas, "replicas", 3, "how many nodes store each upload")
	flags.Var(&f.maxStore, "max-store", "maximum size of the streams on this node; 0 for three quarters of the free space")
}

// clustered reports whether flags specify a cluster.
func (f *clusterFlags) clustered() bool { return f.nodes != "" || f.server != "" }

// check checks the flags and reads the files that they name.
func (f *clusterFlags) check() (err error) {
	switch {
	case !f.clustered():
		if f.node != "" {
			return verb.Usagef("collect: --node without --cluster or --nats")
		}
		return nil
	case f.nodes != "" && f.server != "":
		return verb.Usagef("collect: --cluster and --nats exclude each other")
	case f.node == "":
		return verb.Usagef("collect: give the name of this node with --node")
	case f.shards < 1 || f.shards > cluster.MaxShards:
		return verb.Usagef("collect: --shards %d: must be from 1 to %d", f.shards, cluster.MaxShards)
	case f.replicas < 1 || f.replicas > 5:
		return verb.Usagef("collect: --replicas %d: must be from 1 to 5", f.replicas)
	case f.server != "":
		return nil
	case (f.routeCert == "") != (f.routeKey == "") || (f.routeCert == "") != (f.routeCA == ""):
		return verb.Usagef("collect: --cluster-cert, --cluster-key and --cluster-ca belong together")
	}
	if f.list, err = cluster.ParseNodes(f.nodes); err != nil {
		return verb.Usagef("collect: --cluster: %v", err)
	}
	found := false
	for _, n := range f.list {
		found = found || n.Name == f.node
	}
	if !found {
		return verb.Usagef("collect: --node %s is not in the list of --cluster", f.node)
	}
	return f.readSecret()
}

const minSecret = 16 // bytes

func (f *clusterFlags) readSecret() error {
	if f.secret == "" {
		for _, n := range f.list {
			host, _, err := net.SplitHostPort(n.Addr)
			if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
				return verb.Usagef("collect: --cluster: %s is on another machine: give --cluster-secret FILE", n.Addr)
			}
		}
		return nil
	}
	data, err := readPrivate(f.secret)
	if err != nil {
		return err
	}
	if data = bytes.TrimSpace(data); len(data) < minSecret {
		return fmt.Errorf("%s: a secret of %d bytes; it needs at least %d", f.secret, len(data), minSecret)
	}
	f.secretText = string(data)
	return nil
}

// routeTLS returns the settings of connections between nodes: each shows a certificate.
func (f *clusterFlags) routeTLS() (*tls.Config, error) {
	if f.routeCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(f.routeCert, f.routeKey)
	if err != nil {
		return nil, err
	}
	pool, err := readPool(f.routeCA)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}, nil
}

// readPool reads certificates of authorities.
func readPool(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s: no certificate in PEM", path)
	}
	return pool, nil
}

// lockedNode is a node whose directory no other process uses.
type lockedNode struct {
	*cluster.Cluster
	lock *journal.Lock
}

// Close stops the node.
func (n *lockedNode) Close(ctx context.Context) error {
	return errors.Join(n.Cluster.Close(ctx), n.lock.Close())
}

// open starts the node.
func (f *clusterFlags) open(dir, url string, debugBuilds int, options collector.Options) (backend, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := journal.TakeLock(dir)
	if err != nil {
		return nil, err
	}
	if _, err := depot.OpenDebug(debugDir(dir), 0); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	o := cluster.Options{
		Node: f.node, URL: url, Prefix: f.prefix, Replicas: f.replicas, Shards: f.shards, Server: f.server, Creds: f.creds, DebugBuilds: debugBuilds,
		Collector: options, Log: options.Log,
	}
	if f.server == "" {
		routes, err := f.routeTLS()
		if err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		o.Embedded = &cluster.Embedded{Dir: dir, Nodes: f.list, Secret: f.secretText, TLS: routes, MaxStore: int64(f.maxStore)}
	}
	c, err := cluster.Open(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), lock.Close())
	}
	return &lockedNode{c, lock}, nil
}

package cluster

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"github.com/nats-io/nats.go"
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

// natsServer is the NATS server in this process.
type natsServer interface {
	nats.InProcessConnProvider
	Shutdown()
	WaitForShutdown()
}

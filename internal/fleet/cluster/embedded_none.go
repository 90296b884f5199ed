//go:build nocluster

package cluster

import (
	"errors"
	"log/slog"
)

// start fails: this program has no server.
func (e *Embedded) start(string, string, *slog.Logger) (natsServer, error) {
	return nil, errors.New("this cairn was built without a NATS server (-tags nocluster): name a server with --nats, or use a cairn that was built with one")
}

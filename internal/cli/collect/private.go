package collect

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/cairnprof/cairn/internal/fleet/gate"
)

// maxPrivate bounds the size of a file with secrets.
const maxPrivate = 16 << 20

// readPrivate reads a file with secrets. It is an error if all users of the machine can read or write it.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Mode().IsRegular() && st.Mode().Perm()&0o006 != 0 {
		return nil, fmt.Errorf("%s: all users of this machine can use it (mode %#o): chmod o= %s", path, st.Mode().Perm(), path)
	}
	return io.ReadAll(io.LimitReader(f, maxPrivate))
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

// rereadTokens reads the file of tokens again at each SIGHUP until ctx ends. If it is not valid, the tokens stay.
func (f *collectFlags) rereadTokens(ctx context.Context, g *gate.Gate, log *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
			}
			tokens, err := f.readTokens()
			if err != nil {
				log.Error("the tokens stay as they were", "error", err)
				continue
			}
			g.SetTokens(tokens)
			log.Info("read the tokens again", "tokens", len(tokens))
		}
	}()
}

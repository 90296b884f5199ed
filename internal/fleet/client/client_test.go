package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const childURL = "CAIRN_TEST_URL"

// TestMain makes the test program the client as well, in a process with other variables.
func TestMain(m *testing.M) {
	url := os.Getenv(childURL)
	if url == "" {
		os.Exit(m.Run())
	}
	data, err := FromEnvironment().Get(context.Background(), url, 100)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(string(data))
}

// get gets a URL in a process with the given variables.
func get(t *testing.T, url string, variables ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childURL+"="+url), variables...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestProxy checks that requests use the proxy of the environment, with the token.
func TestProxy(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.RequestURI, " ", r.Header.Get("Authorization"))
	}))
	defer proxy.Close()
	out, err := get(t, "http://collector.test/app", "HTTP_PROXY="+proxy.URL, "NO_PROXY=", "CAIRN_TOKEN=secret")
	if want := "http://collector.test/app Bearer secret"; err != nil || out != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
}

// TestClientCertificate checks that a collector that requires a certificate gets the one from
// the environment.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, cert, "CERTIFICATE", der)
	writePEM(t, key, "EC PRIVATE KEY", bytes)

	pool := x509.NewCertPool()
	own, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(own)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "ok")
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.StartTLS()
	defer server.Close()
	authority := filepath.Join(dir, "ca.pem")
	writePEM(t, authority, "CERTIFICATE", server.Certificate().Raw)

	variables := []string{"SSL_CERT_FILE=" + authority, "CAIRN_CLIENT_CERT=" + cert, "CAIRN_CLIENT_KEY=" + key}
	if out, err := get(t, server.URL+"/app", variables...); err != nil || out != "ok" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := get(t, server.URL+"/app", variables[0]); err == nil {
		t.Errorf("without a certificate: %s", out)
	}
	variables[2] = "CAIRN_CLIENT_KEY=" + filepath.Join(dir, "missing")
	if out, err := get(t, server.URL+"/app", variables...); err == nil || !strings.Contains(out, "CAIRN_CLIENT_KEY") {
		t.Errorf("with a missing key: %v: %s", err, out)
	}
}

func writePEM(t *testing.T, path, kind string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
		t.Fatal(err)
	}
}

package collect

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// natsServer is a process of nats-server with JetStream.
type natsServer struct {
	t    *testing.T
	bin  string
	args []string
	addr string
	old  bool // version 2.9
	cmd  *exec.Cmd
}

// startNATS starts servers that form a cluster if there are several. They sync each write.
func startNATS(t *testing.T, bin string, n int) (list []*natsServer) {
	t.Helper()
	var routes []string
	ports := make([]string, 2*n)
	for i := range ports {
		ports[i] = freeAddress(t)
	}
	for i := range n {
		routes = append(routes, strconv.Quote("nats://"+ports[n+i]))
	}
	for i := range n {
		dir := t.TempDir()
		text := fmt.Sprintf("listen: %q\nserver_name: n%d\njetstream { store_dir: %q", ports[i], i, dir)
		old := strings.Contains(version(t, bin), "v2.9.")
		if !old { // it does not have that
			text += ", sync_interval: always"
		}
		text += " }\n"
		if n > 1 {
			text += fmt.Sprintf("cluster { name: test, listen: %q, routes: [%s] }\n", ports[n+i], strings.Join(routes, ","))
		}
		config := filepath.Join(dir, "config")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, &natsServer{t: t, bin: bin, args: []string{"-c", config}, addr: ports[i], old: old})
	}
	return list
}

func version(t *testing.T, bin string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), bin, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *natsServer) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.bin, s.args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.cmd
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill() //nolint:errcheck // it may have ended
			cmd.Wait()         //nolint:errcheck // it was killed
		}
	})
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatal(err)
		}
	}
}

// kill kills the server. Those of version 2.9 are told to end: they acknowledge what they have not written.
func (s *natsServer) kill() {
	s.t.Helper()
	how := syscall.SIGKILL
	if s.old {
		how = syscall.SIGTERM
	}
	if err := s.cmd.Process.Signal(how); err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Wait() //nolint:errcheck // it was killed
}

// TestNATS runs collectors on nats-server: on the version in go.mod, which is built here, and on that of
// the system. Servers and collectors are killed while files come.
func TestNATS(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("building nats-server takes a while")
	}
	bin := filepath.Join(t.TempDir(), "nats-server")
	built := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/nats-io/nats-server/v2")
	if out, err := built.CombinedOutput(); err != nil {
		t.Skipf("nats-server cannot be built: %v: %s", err, out)
	}
	for _, test := range []struct {
		name    string
		bin     string
		servers int
	}{{"one server", bin, 1}, {"three servers", bin, 3}, {"of the system", "", 1}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.bin == "" {
				var err error
				if test.bin, err = exec.LookPath("nats-server"); err != nil {
					t.Skip(err)
				}
			}
			t.Log(version(t, test.bin))
			runOnNATS(t, startNATS(t, test.bin, test.servers))
		})
	}
}

func runOnNATS(t *testing.T, servers []*natsServer) {
	var urls []string
	for _, s := range servers {
		s.start()
		urls = append(urls, "nats://"+s.addr)
	}
	c := &trio{t: t, own: []string{"--nats", strings.Join(urls, ","), "--replicas", fmt.Sprint(len(servers)), "--nats-prefix", "test"}, args: []string{"--snapshot", "100ms"}}
	for i := range c.nodes {
		c.dirs[i] = t.TempDir()
		c.start(i)
	}
	for i := range c.nodes {
		c.ready(i)
	}
	f, l := newFleet(), c.load(8)
	for _, p := range f.programs {
		l.files <- p.MapFile(t)
	}
	for round := range 4 {
		l.runs(f, 60)
		for range 60 {
			l.files <- f.run(t)
		}
		if round%2 == 0 {
			if err := c.nodes[round%3].end(syscall.SIGKILL); err == nil {
				t.Fatal("a collector ended by itself")
			}
			l.runs(f, 30)
			c.start(round % 3)
		} else {
			s := servers[round%len(servers)]
			s.kill()
			s.start()
		}
		l.runs(f, 60)
	}
	close(l.files)
	l.wg.Wait()
	for i := range c.nodes {
		c.ready(i)
		f.compare(t, c, i)
	}
}

package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stallServer is a server with one stall.
type stallServer struct {
	name, plant string
	needs       []string // programs
	user        string   // whose process it is, "": ours
	stall       string   // of the library, "": none
	freezes     bool     // it is stopped by a signal
	build       bool     // of Go: it is built with probes, and not hooked
	end         syscall.Signal
	each        int // requests of a worker in a burst, if it is not 40
	prepare     func(ctx context.Context, dir string) (argv []string, err error)
	request     func(ctx context.Context, dir string, worker, i int) error
	// lock makes the stall itself, and returns how long a request took for it.
	lock func(ctx context.Context, dir string) (from, to int64, err error)
}

const stallAddress = "127.0.0.1:28713"

var stallServers = []stallServer{
	{
		name: "postgres", plant: "a row that another session has locked", needs: []string{"postgres", "psql"}, user: "postgres", end: syscall.SIGINT, each: 2,
		prepare: preparePostgres,
		request: func(ctx context.Context, dir string, worker, i int) error {
			statement := fmt.Sprintf("update t set n = n + 1 where i = %d", 2+worker)
			if worker == 0 && i == 0 {
				statement = "set client_min_messages = error; create table if not exists t (i int primary key, n int); " +
					"insert into t select i, 0 from generate_series(1, 9) i on conflict do nothing; " + statement
			}
			_, err := psql(ctx, dir, statement)
			return err
		},
		lock: lockRow,
	},
	{
		name: "memcached", plant: "an answer waits for a name server", needs: []string{"memcached"}, stall: "query",
		prepare: func(context.Context, string) ([]string, error) {
			return []string{"/usr/bin/memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", "28713", "-t", "2"}, nil
		},
		request: func(ctx context.Context, _ string, worker, i int) error {
			return ask(ctx, fmt.Sprintf("set k%d 0 0 5\r\nhello\r\n", worker*1000+i), "STORED")
		},
	},
	{
		name: "redis", plant: "a slow disk: fsync of the log", needs: []string{"redis-server"}, stall: "fsync",
		prepare: func(_ context.Context, dir string) ([]string, error) {
			return []string{"/usr/bin/redis-server", "--port", "28713", "--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "always", "--dir", dir, "--save", ""}, nil
		},
		request: func(ctx context.Context, _ string, worker, i int) error {
			return ask(ctx, fmt.Sprintf("SET k%d %d\r\n", worker, i), "+OK")
		},
	},
	{
		name: "nginx", plant: "a slow file system: open", needs: []string{"/usr/sbin/nginx"}, stall: "open",
		prepare: prepareNginx,
		request: askHTTP,
	},
	{
		name: "mosquitto", plant: "SIGSTOP, then SIGCONT", needs: []string{"/usr/sbin/mosquitto"}, freezes: true,
		prepare: func(_ context.Context, dir string) ([]string, error) {
			conf := filepath.Join(dir, "mosquitto.conf")
			return []string{"/usr/sbin/mosquitto", "-c", conf}, os.WriteFile(conf, []byte("listener 28713 127.0.0.1\nallow_anonymous true\npersistence false\nuser nobody\n"), 0o644)
		},
		request: func(ctx context.Context, _ string, worker, _ int) error {
			id := strconv.Itoa(worker) + "-client"
			connect := "\x10" + string(rune(12+len(id))) + "\x00\x04MQTT\x04\x02\x00\x3c\x00" + string(rune(len(id))) + id
			return ask(ctx, connect, "\x20\x02\x00\x00")
		},
		lock: stopServer,
	},
	{name: "a Go server", plant: "a mutex that another goroutine has", needs: []string{"go"}, stall: "lock", build: true, request: askHTTP},
	{name: "a Go server", plant: "page faults", needs: []string{"go"}, stall: "fault", build: true, request: askHTTP},
}

// askHTTP sends a request of HTTP.
func askHTTP(ctx context.Context, _ string, _, _ int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+stallAddress+"/page.txt", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// load sends requests in bursts, plants the stall in the middle, and returns when it was.
func (s *stallServer) load(ctx context.Context, dir, flag string, open *busy) (from, to int64, err error) {
	const workers, bursts, pause = 2, 8, 250 * time.Millisecond
	each := cmp.Or(s.each, 40)
	if err := s.ready(ctx, dir); err != nil {
		return 0, 0, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	do := func(worker, i int) {
		open.begin()
		defer open.end()
		if e := s.request(ctx, dir, worker, i); e != nil {
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, e)
		}
	}
	for burst := range bursts {
		for worker := range workers {
			wg.Go(func() {
				for i := range each {
					do(worker, burst*each+i)
				}
			})
		}
		if burst == bursts/2 {
			if s.lock != nil {
				open.begin()
				from, to, err = s.lock(ctx, dir)
				open.end()
			} else {
				err = plant(flag)
			}
		}
		wg.Wait()
		if err != nil {
			return 0, 0, err
		}
		time.Sleep(pause)
	}
	if s.lock != nil {
		return from, to, err
	}
	text, err := os.ReadFile(flag + ".done")
	if err != nil {
		return 0, 0, fmt.Errorf("nothing stalled: %w", err)
	}
	_, err = fmt.Sscan(string(text), &from, &to)
	return from, to, err
}

// plant makes the file that a server waits for, which other users may remove.
func plant(flag string) error {
	file := flag + ".new"
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		return err
	}
	return errors.Join(os.Chmod(file, 0o666), os.Rename(file, flag))
}

// ready waits until the server answers.
func (s *stallServer) ready(ctx context.Context, dir string) error {
	var err error
	for range 600 {
		if err = s.request(ctx, dir, 0, 0); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// ask sends a request on a connection of its own, and expects the beginning of an answer.
func ask(ctx context.Context, request, want string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", stallAddress)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	answer := make([]byte, len(want))
	if _, err := io.ReadFull(bufio.NewReader(c), answer); err != nil || string(answer) != want {
		return fmt.Errorf("the answer is %q: %w", answer, errors.Join(err, errors.New("not "+strconv.Quote(want))))
	}
	return nil
}

// asUser returns how to start a process of another user.
func asUser(name string) (*syscall.SysProcAttr, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func preparePostgres(ctx context.Context, dir string) ([]string, error) {
	bin, err := output(ctx, "", "pg_config", "--bindir")
	if err != nil {
		return nil, err
	}
	bin = strings.TrimSpace(bin)
	data := filepath.Join(dir, "data")
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "postgres")
	if cmd.SysProcAttr, err = asUser("postgres"); err != nil {
		return nil, err
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return []string{filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-p", "28713", "-c", "listen_addresses="}, nil
}

func psql(ctx context.Context, dir, statement string) (string, error) {
	text, err := exec.CommandContext(ctx, "psql", "-q", "-A", "-t", "-h", dir, "-p", "28713", "-U", "postgres", "-c", statement).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return strings.TrimSpace(string(text)), nil
}

// lockRow lets one session wait for a row that another one has locked.
func lockRow(ctx context.Context, dir string) (from, to int64, err error) {
	holder := exec.CommandContext(ctx, "psql", "-q", "-h", dir, "-p", "28713", "-U", "postgres")
	in, err := holder.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := holder.Start(); err != nil {
		return 0, 0, err
	}
	fmt.Fprintln(in, "begin; update t set n = 0 where i = 1; select 'locked';")
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "locked"); {
	}
	done := make(chan error, 1)
	go func() {
		_, err := psql(ctx, dir, "update t set n = 1 where i = 1")
		done <- err
	}()
	for waits := ""; waits != "1"; {
		if waits, err = psql(ctx, dir, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"); err != nil {
			return 0, 0, err
		}
	}
	from = time.Now().UnixNano()
	time.Sleep(600 * time.Millisecond)
	to = time.Now().UnixNano()
	fmt.Fprintln(in, "commit;")
	in.Close()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return from, to, errors.Join(<-done, holder.Wait())
}

func prepareNginx(_ context.Context, dir string) ([]string, error) {
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 64; }
http {
  access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  server { listen %[2]s; root %[1]s; }
}
`, dir, stallAddress)
	if err := os.WriteFile(filepath.Join(dir, "page.txt"), []byte(strings.Repeat("a page\n", 1000)), 0o644); err != nil {
		return nil, err
	}
	return []string{"/usr/sbin/nginx", "-c", conf, "-e", filepath.Join(dir, "error.log")}, os.WriteFile(conf, []byte(text), 0o644)
}

// stopServer stops the process that listens at the address for a while.
func stopServer(ctx context.Context, dir string) (from, to int64, err error) {
	text, err := output(ctx, "", "pgrep", "-f", "-x", ".*mosquitto -c "+filepath.Join(dir, "mosquitto.conf"))
	if err != nil {
		return 0, 0, err
	}
	for field := range strings.FieldsSeq(text) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return 0, 0, err
		}
		name, err := os.Readlink(filepath.Join("/proc", field, "exe"))
		if err != nil || filepath.Base(name) != "mosquitto" {
			continue
		}
		from = time.Now().UnixNano()
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			return 0, 0, err
		}
		time.Sleep(400 * time.Millisecond)
		to = time.Now().UnixNano()
		return from, to, syscall.Kill(pid, syscall.SIGCONT)
	}
	return 0, 0, errors.New("mosquitto is not there")
}

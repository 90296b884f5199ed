package collect

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak takes: an hour, or with -short a minute")
	soakSeed = flag.Uint64("soak-seed", 0, "the order of its faults; 0 draws one")
)

// soak is a collector that has faults while it gets uploads.
type soak struct {
	t       *testing.T
	bin     string // of the collector
	root    string // a small file system
	dir     string // of the collector, below it
	space   string // network namespace, "" for none
	address string // that the collector listens on
	tokens  string
	clock   func(ahead time.Duration) // nil: the clock cannot jump
	rng     *rand.Rand
	p       *process

	programs []*fleettest.Program
	client   *client.Client

	uploads  sync.RWMutex // senders have it until an upload is acknowledged
	mu       sync.Mutex
	next     uint64
	raws     []map[string][]byte // acknowledged, by program
	attempts int
	recent   [][]byte // bodies that were acknowledged since the last comparison, and some before it
}

const soakToken = "soak-token-0123456789"

// TestSoak kills a collector, stops it, cuts its network, fills its disk, flips bits of its files, lets its clock jump,
// and replaces it by its backup, while four senders send. It compares the profiles with those of cairn merge again and
// again: none of the acknowledged runs is lost, and none counts twice. A bit of the journal costs the upload in which it
// is, and a restored backup those that came since: these are sent again, as push does whose files still exist.
func TestSoak(t *testing.T) {
	shorttest.Proof(t)
	length := *soakFor
	switch {
	case length > 0:
	case testing.Short():
		length = time.Minute
	default:
		length = time.Hour
	}
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-soak %v -soak-seed %d", length, seed)
	s := newSoak(t, seed)
	faults := map[string]func() bool{
		"kill": s.kill, "pause": s.pause, "partition": s.partition, "full disk": s.full, "flipped bit of the head": s.flipHead,
		"flipped bit of the journal": s.flipJournal, "clock": s.jump, "backup": s.restore,
	}
	names := slices.Sorted(maps.Keys(faults))
	ctx, cancel := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	for sender := range 4 {
		senders.Go(func() { s.send(ctx, sender) })
	}
	done := map[string]int{}
	check := time.Now().Add(10 * time.Second)
	var turn []string
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		if len(turn) == 0 {
			turn = slices.Clone(names)
			s.rng.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}
		name := turn[0]
		turn = turn[1:]
		if faults[name]() {
			done[name]++
			t.Log(time.Now().Format(time.TimeOnly), name) // what was before a failure
		}
		time.Sleep(time.Duration(s.rng.IntN(1500)) * time.Millisecond)
		if time.Now().After(check) {
			s.check()
			check = time.Now().Add(30 * time.Second)
		}
	}
	cancel()
	senders.Wait()
	s.check()
	for _, name := range names {
		t.Logf("%4d x %s", done[name], name)
		if done[name] == 0 && name != "clock" && name != "partition" && length >= time.Minute {
			t.Errorf("no %s", name)
		}
	}
	runs := 0
	for _, raws := range s.raws {
		runs += len(raws)
	}
	t.Logf("%d runs acknowledged, %d attempts of uploads: 0 lost, 0 twice", runs, s.attempts)
}

func newSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	s := &soak{t: t, bin: os.Args[0], root: filepath.Join(t.TempDir(), "disk"), rng: rand.New(rand.NewPCG(seed, 0)), client: client.New(soakToken)}
	s.client.HTTP.Timeout = 5 * time.Second
	if err := os.Mkdir(s.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", s.root, "tmpfs", 0, "size=256m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(s.root, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s.dir = filepath.Join(s.root, "data")
	s.tokens = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(s.tokens, []byte("write,publish,read,backup "+soakToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.network()
	if !testing.Short() {
		s.bin, s.clock = jumpyClock(t)
	}
	t.Setenv("CAIRN_TOKEN", soakToken)
	s.start()
	t.Cleanup(func() { s.p.end(syscall.SIGKILL) })
	for i := range 3 {
		p := fleettest.NewProgram(fmt.Sprint("app", i), prof.BuildID(fmt.Sprint("build", i)), 40+i)
		s.programs, s.raws = append(s.programs, p), append(s.raws, map[string][]byte{})
		if _, err := s.client.Send(t.Context(), s.p.url, p.MapFile(t)); err != nil {
			t.Fatal(err)
		}
		s.recent = append(s.recent, p.MapFile(t))
	}
	return s
}

// network makes a network namespace for the collector, if that is permitted.
func (s *soak) network() {
	name, n := fmt.Sprintf("cairn-%d", os.Getpid()), os.Getpid()%200+20
	outside := fmt.Sprintf("cs%d", os.Getpid())
	s.address = "127.0.0.1:0"
	if exec.Command("ip", "netns", "add", name).Run() != nil {
		s.t.Log("no network namespaces: no partitions")
		return
	}
	s.t.Cleanup(func() {
		exec.Command("ip", "netns", "del", name).Run()   //nolint:errcheck // as far as it was made
		exec.Command("ip", "link", "del", outside).Run() //nolint:errcheck // it goes with the namespace
	})
	for _, line := range []string{
		fmt.Sprintf("link add %s type veth peer name inside netns %s", outside, name),
		fmt.Sprintf("addr add 10.213.%d.1/24 dev %s", n, outside), fmt.Sprintf("link set %s up", outside),
		fmt.Sprintf("-n %s addr add 10.213.%d.2/24 dev inside", name, n), fmt.Sprintf("-n %s link set inside up", name), fmt.Sprintf("-n %s link set lo up", name),
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			s.t.Logf("ip %s: %v: %s: no partitions", line, err, out)
			return
		}
	}
	s.space, s.address = name, fmt.Sprintf("10.213.%d.2:7474", n)
}

// start starts the collector, at the address at which it was.
func (s *soak) start() {
	args := []string{s.bin, s.dir, "--listen", s.address, "--tokens", s.tokens, "--traces", fmt.Sprint(fleettest.Traces), "--snapshot", "200ms", "--min-free", "4MB", "--keep", "9000h"}
	if s.space != "" {
		args = append([]string{"ip", "netns", "exec", s.space}, args...)
	}
	p := &process{cmd: exec.Command(args[0], args[1:]...)}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	p.cmd.Stderr = &p.talk
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.end(syscall.SIGKILL)
		s.t.Fatalf("the collector does not start: %v: %s", err, &p.talk)
	}
	p.url = strings.TrimSpace(line)
	s.address = strings.TrimPrefix(p.url, "http://")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p = p
}

func (s *soak) url() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p.url
}

// send sends uploads, each until it is acknowledged.
func (s *soak) send(ctx context.Context, sender int) {
	for ctx.Err() == nil {
		program := s.programs[sender%len(s.programs)]
		s.mu.Lock()
		first := s.next
		s.next += 5
		s.mu.Unlock()
		var files []bundle.File
		raws := map[string][]byte{}
		for run := first + 1; run <= first+5; run++ {
			data := program.Run(s.t, run)
			raws[fmt.Sprint(run)] = data
			files = append(files, bundle.File{Data: data})
		}
		body, err := bundle.Append(nil, files)
		if err != nil {
			s.t.Error(err)
			return
		}
		s.uploads.RLock()
		ok := s.deliver(body)
		if ok {
			s.mu.Lock()
			maps.Copy(s.raws[sender%len(s.programs)], raws)
			s.recent = append(s.recent, body)
			s.mu.Unlock()
		}
		s.uploads.RUnlock()
		if !ok {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// deliver sends a body until it is acknowledged.
func (s *soak) deliver(body []byte) bool {
	for {
		_, err := s.client.Send(context.Background(), s.url(), body)
		s.mu.Lock()
		s.attempts++
		s.mu.Unlock()
		if err == nil {
			return true
		}
		if !client.Temporary(err) || s.t.Failed() {
			s.t.Errorf("an upload: %v", err)
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// check compares the profiles with those of all acknowledged runs.
func (s *soak) check() {
	s.uploads.Lock()
	defer s.uploads.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.programs {
		got, err := s.client.Get(context.Background(), s.p.url+"/"+p.Module, 1<<30)
		if err != nil {
			s.t.Fatalf("%v: %s", err, &s.p.talk)
		}
		if want := fleettest.Merged(s.t, []*fleettest.Program{p}, s.raws[i]); !bytes.Equal(got, want) {
			s.t.Fatalf("the profile of %s has %d runs, %d were acknowledged, and is not theirs: %s", p.Module, runsOf(s.t, got), len(s.raws[i]), &s.p.talk)
		}
	}
	s.recent = slices.Clone(s.recent[max(0, len(s.recent)-inSnapshots):])
}

// inSnapshots is after how many uploads both snapshots have one. The journal may lose what only the newest has, if that
// is damaged as well.
const inSnapshots = 400

// again sends again what may not be in both snapshots. Senders wait.
func (s *soak) again() {
	for _, body := range s.recent {
		if !s.deliver(body) {
			return
		}
	}
}

func (s *soak) wait(most int) { time.Sleep(time.Duration(s.rng.IntN(most)+1) * time.Millisecond) }

func (s *soak) kill() bool {
	s.p.end(syscall.SIGKILL)
	s.start()
	return true
}

func (s *soak) pause() bool {
	s.p.cmd.Process.Signal(syscall.SIGSTOP) //nolint:errcheck // it runs
	s.wait(2000)
	s.p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // it runs
	return true
}

func (s *soak) partition() bool {
	if s.space == "" {
		return false
	}
	link := func(state string) bool {
		return exec.Command("ip", "-n", s.space, "link", "set", "inside", state).Run() == nil
	}
	if !link("down") {
		s.t.Error("the network cannot be cut")
		return false
	}
	s.wait(2000)
	return link("up")
}

// full fills the disk, and now and then kills the collector while it is full.
func (s *soak) full() bool {
	path := filepath.Join(s.root, "fill")
	f, err := os.Create(path)
	if err != nil {
		s.t.Fatal(err)
	}
	chunk := make([]byte, 1<<20)
	for err == nil {
		_, err = f.Write(chunk)
	}
	f.Close()
	s.wait(1500)
	if s.rng.IntN(2) == 0 {
		s.p.end(syscall.SIGKILL)
	}
	if err := os.Remove(path); err != nil {
		s.t.Fatal(err)
	}
	if s.p.cmd.ProcessState != nil {
		s.start()
	}
	return true
}

// flip flips a bit of a file while the collector does not run.
func (s *soak) flip(path string) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		s.t.Fatalf("%s: %d bytes, %v", path, len(data), err)
	}
	bit := s.rng.IntN(8 * len(data))
	data[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// flipHead damages the newest snapshot: the collector continues from the one before.
func (s *soak) flipHead() bool {
	s.p.end(syscall.SIGKILL)
	defer s.start()
	if _, err := os.Stat(filepath.Join(s.dir, "head.before")); err != nil {
		return false
	}
	s.flip(filepath.Join(s.dir, "head"))
	return true
}

// flipJournal damages a record of the journal.
func (s *soak) flipJournal() bool {
	s.uploads.Lock()
	defer s.uploads.Unlock()
	s.p.end(syscall.SIGKILL)
	segments, err := filepath.Glob(filepath.Join(s.dir, "journal", "*.seg"))
	if err != nil || len(segments) == 0 {
		s.t.Fatal(segments, err)
	}
	s.flip(segments[s.rng.IntN(len(segments))])
	s.start()
	s.again()
	return true
}

func (s *soak) jump() bool {
	if s.clock == nil {
		return false
	}
	s.clock(jumps[s.rng.IntN(len(jumps))])
	return true
}

// restore makes a backup and continues with it a moment later.
func (s *soak) restore() bool {
	dir := filepath.Join(s.root, fmt.Sprint("copy", time.Now().UnixNano()))
	if err := runBackup(s.t, s.url(), dir); err != nil {
		s.t.Errorf("backup: %v: %s", err, &s.p.talk)
		return false
	}
	s.wait(500)
	s.uploads.Lock()
	defer s.uploads.Unlock()
	s.p.end(syscall.SIGKILL)
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(dir, s.dir); err != nil {
		s.t.Fatal(err)
	}
	s.start()
	s.again()
	return true
}

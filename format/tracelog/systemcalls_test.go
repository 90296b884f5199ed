package tracelog

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSystemCalls compares the tables with the headers of the kernel that are installed for each machine.
func TestSystemCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		compiler string
		table    SystemCalls
		own      []string // names that say which machine's headers they are
	}{
		{"x86_64-linux-gnu-gcc", CallsX86_64, []string{"arch_prctl", "epoll_wait"}},
		{"aarch64-linux-gnu-gcc", CallsGeneric, []string{"sync_file_range"}},
	} {
		t.Run(c.compiler, func(t *testing.T) {
			t.Parallel()
			numbers := numbersOf(t, c.compiler)
			if len(numbers) < 250 {
				t.Fatalf("the headers have %d system calls", len(numbers))
			}
			for _, name := range c.own {
				if !slices.Contains(slices.Collect(maps.Values(numbers)), name) {
					t.Errorf("the headers have no %s", name)
				}
			}
			newest := slices.Max(slices.Collect(maps.Keys(numbers)))
			for n := range newest + 1 {
				want, known := numbers[n]
				if !known {
					want = "system call " + strconv.Itoa(n)
				}
				if got := c.table.Name(n); got != want && !strings.HasPrefix(got, "system call ") {
					t.Errorf("%d is %q, want %q", n, got, want)
				} else if got != want && n < newestCall {
					t.Errorf("%d has no name, want %q", n, want)
				}
			}
		})
	}
	for _, c := range []struct {
		table  SystemCalls
		number int
		want   string
	}{
		{CallsOlder, 202, "futex"},
		{CallsX86_64, 202, "futex"},
		{CallsGeneric, 98, "futex"},
		{CallsGeneric, 202, "accept"},
		{CallsGeneric, 250, "system call 250"},
		{CallsArm, 240, "futex"},
		{CallsArm, 1, "system call 1"},
		{CallsArm, 449, "futex_waitv"},
		{CallsGeneric, 449, "futex_waitv"},
		{CallsX86_64, 449, "futex_waitv"},
		{CallsX86_64, 400, "system call 400"},
		{CallsUnknown, 98, "system call 98"},
		{CallsUnknown, 449, "system call 449"},
		{CallsX86_64, -1, ""},
		{CallsUnknown, -1, ""},
		{CallsX86_64, 1 << 31, "system call 2147483648"},
	} {
		if got := c.table.Name(c.number); got != c.want {
			t.Errorf("table %d: %d is %q, want %q", c.table, c.number, got, c.want)
		}
	}
}

// newestCall is the first number that the tables do not have.
var newestCall = firstAdded + len(strings.Fields(namesAdded))

// numbersOf returns the names of system calls by their numbers, as the headers of a compiler have them.
func numbersOf(t *testing.T, compiler string) map[int]string {
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), compiler, "-E", "-dM", "-x", "c", "-")
	cmd.Stdin = strings.NewReader("#include <asm/unistd.h>\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^#define (__NR\w*) (\w+)$`).FindAllSubmatch(out, -1) {
		values[string(m[1])] = string(m[2])
	}
	numbers := map[int]string{}
	for key, value := range values {
		name, ok := strings.CutPrefix(key, "__NR_")
		for values[value] != "" {
			value = values[value]
		}
		if n, err := strconv.Atoi(value); ok && err == nil && name != "syscalls" && name != "arch_specific_syscall" {
			numbers[n] = name
		}
	}
	return numbers
}

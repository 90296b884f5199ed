package detour_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/instrument/detourfile"
)

// prologue is a handwritten function: its name, its text, and the reason why it is rejected, or
// the bytes of its trampoline after the call of the hook, with zeros in place of distances.
type prologue struct {
	name, text string
	reason     detour.Reason
	moved      string
}

// prologues all have a loop of nops after their bodies, so that none is too quick.
var prologues = []prologue{
	{"frame", "push %rbp\nmov %rsp,%rbp\nsub $16,%rsp\nleave\nret", "", "55 4889e5 4883ec10 e900000000"},
	{"ibt", "endbr64\npush %r15\npush %r14\nmov %edi,%ebx\nret", "", "4157 4156 89fb e900000000"},
	{"rip", "mov table(%rip),%rax\nret", "", "488b0500000000 e900000000"},
	{"ripimm", "movl $7,table(%rip)\nret", "", "c7050000000007000000 e900000000"},
	{"avx", "vmovaps table(%rip),%zmm1\nvzeroupper\nret", "", "62f17c48280d00000000 e900000000"},
	{"branch", "test %edi,%edi\nje 1f\npush %rbx\npop %rbx\n1: ret", "", "85ff 0f8400000000 53 e900000000"},
	{"tail", "jmp other", "", "e900000000"},
	{"tailshort", "xor %eax,%eax\njmp 1f\nnop\nnop\n1: ret", detour.Short, ""},
	{"virtual", "jmp *table(%rip)", "", "ff2500000000"},
	{"filled", "xor %eax,%eax\nret\n.size filled,.-filled\n.balign 16", "", "31c0 c3"},
	{"filledint3", "xor %eax,%eax\nret\n.size filledint3,.-filledint3\nint3\nint3\nint3", "", "31c0 c3"},
	{"crowded", "xor %eax,%eax\nret", detour.Short, ""},
	{"callee", "sub $8,%rsp\ncall other\nadd $8,%rsp\nret", "", "4883ec08 ff3505000000 e900000000 0000000000000000"},
	{"calleegot", "push %rbx\ncall *table(%rip)\npop %rbx\nret", "", "53 ff3506000000 ff2500000000 0000000000000000"},
	{"calleestack", "push %rbx\ncall *8(%rsp)\npop %rbx\nret", detour.Calls, ""},
	{"calleeptr", "push %rbx\ncall *%rdi\npop %rbx\nret", detour.Calls, ""},
	{"counted", "mov %esi,%ecx\njrcxz 1f\nnop\n1: ret", detour.ShortOnly, ""},
	{"transaction", "nop\nxbegin 1f\nxend\n1: ret", detour.ShortOnly, ""},
	{"far", "lcall *table(%rip)\nret", detour.Calls, ""},
	{"cut", ".byte 0x67\nmov table(%rip),%eax\nret", detour.Unreadable, ""},
	{"distant", "mov 0x70000000(%rip),%eax\nret", detour.Outside, ""},
	{"broken", "int3\npush %rbx\npush %r12\npop %r12\npop %rbx\nret", detour.Traps, ""},
	{"inner", "dec %edi\n1: dec %esi\njne 1b\nmov $1,%eax\nret", detour.Entered, ""},
	{"spin", "1: cmpl $0,(%rdi)\nje 1b\nmov $1,%eax\nret", detour.Looped, ""},
	{"switch", "push %rbx\n.Lcase: push %r12\nlea .Ltable(%rip),%rdx\nmovslq (%rdx,%rdi,4),%rax\nadd %rdx,%rax\njmp *%rax\n.Lother: pop %r12\npop %rbx\nret", detour.Entered, ""},
	{"labelled", "push %rbx\n.Llabel: push %r12\npop %r12\npop %rbx\nmov $1,%eax\nret", detour.Entered, ""},
	{"referred", "push %rbx\n.Lrefer: push %r12\nlea .Lrefer(%rip),%rax\npop %r12\npop %rbx\nret", detour.Entered, ""},
	{"probed", "subl $1,table(%rip)\njb 2f\n1: mov $1,%eax\nret\n2: call other\njmp 1b", detour.Probed, ""},
	{"probedfar", "cmpl $0,table(%rip)\nje 2f\n1: mov $1,%eax\nret\n.skip 200,0x90\n2: call other\njmp 1b", detour.Probed, ""},
	{"data", "mov $1,%eax\n.byte 0x06,0x07,0x0e\nret", detour.Unreadable, ""},
	{"thrown", ".cfi_personality 0x9b,DW.ref.p\n.cfi_lsda 0x1b,.Llsda\npush %rbx\n.Lpad: push %r12\npop %r12\npop %rbx\nmov $1,%eax\nret", detour.Entered, ""},
	{"odd.cold", "mov $1,%eax\nret", detour.NotCalled, ""},
	{"piece", ".cfi_def_cfa_offset 64\nmov $1,%eax\nret", detour.NotCalled, ""},
	{"flagged", "mov $1,%eax\nret", detour.NotCalled, ""},
	{"flagger", "mov $1,%eax\ncmp $2,%edi\nje flagged\nret", "", "b801000000 e900000000"},
	{"_Unwind_Find", "mov $1,%eax\nret", detour.Intimate, ""},
	{"setjmp", "mov $1,%eax\nret", detour.Twice, ""},
	{"chosen", "mov $1,%eax\nret", detour.Resolves, ""},
	{"unframed", "mov $1,%eax\nret", detour.NoFrame, ""},
	{"excluded", "mov $1,%eax\nret", detour.NotChosen, ""},
	{"other", "mov $1,%eax\nret", "", "b801000000 e900000000"},
}

// assemble makes a shared library of the functions and reads it.
func assemble(t *testing.T) *detour.Module {
	t.Helper()
	var s strings.Builder
	s.WriteString(".text\n")
	for _, p := range prologues {
		kind := "function"
		if p.name == "chosen" {
			kind = "gnu_indirect_function"
		}
		start, end := ".cfi_startproc", ".cfi_endproc"
		if p.name == "unframed" {
			start, end = "", ""
		}
		fmt.Fprintf(&s, ".type %[1]s,@%[2]s\n.globl %[1]s\n%[1]s: %[3]s\n%[4]s\n%[5]s\n", p.name, kind, start, p.text, end)
		if !strings.Contains(p.text, ".size") {
			fmt.Fprintf(&s, ".size %[1]s,.-%[1]s\n", p.name)
		}
		if p.name != "crowded" {
			s.WriteString(".balign 16\n")
		}
	}
	s.WriteString(`
	.section .rodata
	.balign 4
.Ltable: .long .Lcase-.Ltable, .Lother-.Ltable
	.balign 8
	.data
	.balign 8
	.quad .Llabel
table: .zero 128
	.section .data.rel.ro.DW.ref.p,"awG",@progbits,DW.ref.p,comdat
DW.ref.p: .quad 0
	.section .gcc_except_table,"a"
.Llsda: .byte 0xff,0xff,1
	.uleb128 2f-1f
1:	.uleb128 0, 4, .Lpad-thrown, 0
2:
`)
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "x.s"), filepath.Join(dir, "x.so")
	if err := os.WriteFile(source, []byte(s.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-pie", "-nostdlib", "-Wl,-z,notext,-e,0", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return read(t, lib)
}

func read(t *testing.T, path string) *detour.Module {
	t.Helper()
	f, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := detourfile.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPrologues checks each reason for a rejection, and each way to move instructions, with
// handwritten functions.
func TestPrologues(t *testing.T) {
	t.Parallel()
	m := assemble(t)
	plan := detour.Make(m, detour.Options{Chosen: func(name string) bool { return name != "excluded" }})
	refused := map[string]detour.Reason{}
	for _, r := range plan.Refused {
		refused[r.Name] = r.Reason
	}
	sites := map[string]detour.Site{}
	for _, s := range plan.Sites {
		sites[s.Name] = s
	}
	for _, p := range prologues {
		site, hooked := sites[p.name]
		if hooked != (p.reason == "") || refused[p.name] != p.reason {
			t.Errorf("%s: hooked %v, refused: %q, want %q", p.name, hooked, refused[p.name], p.reason)
			continue
		}
		if !hooked {
			continue
		}
		body := plan.Blob[site.Entry+6:]
		want := strings.ReplaceAll(p.moved, " ", "")
		if got := fmt.Sprintf("%x", body[:min(len(body), len(want)/2)]); got != want {
			t.Errorf("%s: moved to %s, want %s", p.name, got, want)
		}
	}
	checkPlan(t, m, plan)
}

// TestQuick checks which functions have loops.
func TestQuick(t *testing.T) {
	t.Parallel()
	m := assemble(t)
	plan := detour.Make(m, detour.Options{Small: 100})
	if len(plan.Sites) != 0 {
		t.Errorf("%d functions have a loop: %+v", len(plan.Sites), plan.Sites)
	}
	for _, r := range plan.Refused {
		if (r.Name == "inner" || r.Name == "switch") != (r.Reason == detour.Entered) || (r.Name == "spin") != (r.Reason == detour.Looped) {
			t.Errorf("%s: %s", r.Name, r.Reason)
		}
	}
}

// checkPlan loads a plan, as far as memory goes, and compares every moved
// instruction with the one it is a copy of: same bytes but for distances, and
// those lead to the same place.
func checkPlan(t *testing.T, m *detour.Module, p *detour.Plan) {
	t.Helper()
	const at = 0x40000000 // of the blob; the module is at 0
	blob := bytes.Clone(p.Blob)
	for _, f := range p.Fixups {
		switch f.Kind {
		case detour.Distance:
			binary.LittleEndian.PutUint32(blob[f.At:], uint32(f.Target-(at+uint64(f.At)+4)))
		case detour.Address:
			binary.LittleEndian.PutUint64(blob[f.At:], f.Target)
		}
	}
	for _, s := range p.Sites {
		if got := binary.LittleEndian.Uint64(blob[s.Entry-8:]); got != s.Func {
			t.Errorf("%s: trampoline of %#x, not %#x", s.Name, got, s.Func)
		}
		call, err := x86.Decode(blob[s.Entry:])
		if err != nil || call.Class != controlflow.IndirectCall || call.Memory(at+uint64(s.Entry)) != at {
			t.Errorf("%s: call of the hook %+v, %v", s.Name, call, err)
		}
		if err := sameCode(m, s, blob, at); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// sameCode walks the function and its trampoline side by side.
func sameCode(m *detour.Module, s detour.Site, blob []byte, at uint64) error {
	from, to := s.At, at+uint64(s.Entry)+6
	for from < s.At+5 {
		a, err := x86.Decode(codeAt(m, from))
		if err != nil {
			return err
		}
		b, err := x86.Decode(blob[to-at:])
		if err != nil {
			return err
		}
		if n := from - s.At; n > 0 && uint64(s.Inner[n-1]) != to-at-uint64(s.Entry) {
			return fmt.Errorf("instruction at +%d is at +%d, not %d", n, to-at-uint64(s.Entry), s.Inner[n-1])
		}
		if a.Class.IsCall() {
			return sameCall(a, b, from, to, blob, at)
		}
		if a.Class != b.Class || a.Relative() && a.Target(from) != b.Target(to) || a.RIP && a.Memory(from) != b.Memory(to) {
			return fmt.Errorf("%+v at %#x became %+v", a, from, b)
		}
		if !a.Relative() && !a.RIP && !bytes.Equal(codeAt(m, from)[:a.Len], blob[to-at:][:a.Len]) {
			return fmt.Errorf("bytes at %#x differ", from)
		}
		from += uint64(a.Len)
		to += uint64(b.Len)
		if a.Class.Ends() {
			return nil
		}
	}
	back, err := x86.Decode(blob[to-at:])
	if err != nil || back.Class != controlflow.Jump || back.Target(to) != from {
		return fmt.Errorf("goes back by %+v, %v, want to %#x", back, err, from)
	}
	return nil
}

// sameCall checks what became of a call: it pushes where the call would return to,
// and jumps where it would go.
func sameCall(a, push x86.Inst, from, to uint64, blob []byte, at uint64) error {
	if push.Opcode != 0xff || push.Reg() != 6 || !push.RIP ||
		binary.LittleEndian.Uint64(blob[push.Memory(to)-at:]) != from+uint64(a.Len) {
		return fmt.Errorf("%+v at %#x became %+v", a, from, push)
	}
	to += uint64(push.Len)
	jump, err := x86.Decode(blob[to-at:])
	switch {
	case err != nil:
		return err
	case a.Class == controlflow.Call && (jump.Class != controlflow.Jump || jump.Target(to) != a.Target(from)),
		a.Class == controlflow.IndirectCall && (jump.Class != controlflow.IndirectJump || !a.RIP || jump.Memory(to) != a.Memory(from)):
		return fmt.Errorf("%+v at %#x became %+v", a, from, jump)
	}
	return nil
}

func codeAt(m *detour.Module, addr uint64) []byte {
	for _, s := range m.Sections {
		if s.Code && addr >= s.Addr && addr < s.Addr+uint64(len(s.Data)) {
			return s.Data[addr-s.Addr:]
		}
	}
	return nil
}

// TestPrograms plans real programs, and checks every trampoline.
func TestPrograms(t *testing.T) {
	t.Parallel()
	cc1, _ := exec.Command("gcc", "-print-prog-name=cc1").Output()
	for _, path := range []string{strings.TrimSpace(string(cc1)), "/bin/bash", "/usr/bin/gdb"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			m := read(t, path)
			plan := detour.Make(m, detour.Options{})
			checkPlan(t, m, plan)
			reasons := map[detour.Reason]int{}
			for _, r := range plan.Refused {
				reasons[r.Reason]++
			}
			t.Logf("%d hooked, refused: %v", len(plan.Sites), reasons)
			if len(plan.Sites) < 2*len(plan.Refused) {
				t.Errorf("%d hooked, %d refused", len(plan.Sites), len(plan.Refused))
			}
		})
	}
}

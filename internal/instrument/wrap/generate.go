package wrap

import (
	"fmt"
	"strings"
)

// preamble begins the source. A call at a function's end must not become a jump, as the function would have
// ended before it.
const preamble = `/* Wrappers made by cairn wrap. Compile them with
 *   cairn cc --mode spike --small 0 gcc -O2 -fexceptions -fno-lto -x c -c wrap.c
 * which gives them the code that times calls, and link with cairn cc as well, with
%s */
#if defined(__clang__)
#define CAIRN_WRAPPER __attribute__((noinline, used, disable_tail_calls))
#else
#define CAIRN_WRAPPER __attribute__((noinline, used, optimize("no-optimize-sibling-calls")))
#endif
`

// hidden hides the wrappers of a shared library. A program's must be visible: GNU ld uses them for libraries
// that need the function from the program.
const hidden = ` __attribute__((visibility("hidden")))`

// early begins the source for a static program. The C library is part of it and calls its own functions before
// the runtime is initialized: such calls are not timed.
const early = `extern struct cairn_process *__cairn_state __attribute__((visibility("hidden")));
#define CAIRN_UNTIMED __attribute__((noinline, used, section(".text.cairn_skip")))
`

// Kind is the kind of module that the wrappers are linked into.
type Kind struct{ Shared, Static bool }

// Text returns the C source of the wrappers of functions for a kind of module. options are the linker's, which
// its first comment shows.
func Text(functions []*Function, options []string, kind Kind) string {
	var lines strings.Builder
	for _, o := range options {
		fmt.Fprintf(&lines, " *   %s\n", comment(o))
	}
	var b strings.Builder
	fmt.Fprintf(&b, preamble, lines.String())
	if kind.Static {
		b.WriteString(early)
	}
	for _, f := range functions {
		fmt.Fprintf(&b, "\n/* %s, by %s */\n%s", comment(f.Title), comment(f.Source), f.Before)
		if f.Shim {
			b.WriteString(f.shim(kind))
			continue
		}
		b.WriteString(f.wrapper(kind))
	}
	return b.String()
}

// wrapper returns the code of a wrapper.
func (f *Function) wrapper(kind Kind) string {
	params := make([]string, len(f.Params))
	args := make([]string, len(f.Params))
	for i, t := range f.Params {
		args[i] = fmt.Sprintf("a%d", i+1)
		params[i] = declare(t, args[i])
	}
	list, values, result := strings.Join(params, ", "), strings.Join(args, ", "), "return "
	if list == "" {
		list = "void"
	}
	if f.Result == "void" {
		result = ""
	}
	var b strings.Builder
	header := func(name string) string { return declare(f.Result, name+f.Name) + "(" + list + ")" }
	visibility := ""
	if kind.Shared {
		visibility = hidden
	}
	fmt.Fprintf(&b, "extern %s;\n%s%s;\n", header("__real_"), header("__wrap_"), visibility)
	if !kind.Static {
		fmt.Fprintf(&b, "CAIRN_WRAPPER %s { %s__real_%s(%s); }\n", header("__wrap_"), result, f.Name, values)
		return b.String()
	}
	fmt.Fprintf(&b, "CAIRN_WRAPPER static %s { %s__real_%s(%s); }\n", header("__timed_"), result, f.Name, values)
	fmt.Fprintf(&b, "CAIRN_UNTIMED %s {\n", header("__wrap_"))
	if result == "" {
		fmt.Fprintf(&b, "  if (__cairn_state) __timed_%s(%s);\n  else __real_%s(%s);\n}\n", f.Name, values, f.Name, values)
	} else {
		fmt.Fprintf(&b, "  return __cairn_state ? __timed_%s(%s) : __real_%s(%s);\n}\n", f.Name, values, f.Name, values)
	}
	return b.String()
}

// shim returns the code of a wrapper without a signature. The runtime's hook takes
// the return address away, until the function returns.
func (f *Function) shim(kind Kind) string {
	visibility := ""
	if kind.Shared {
		visibility = `"\t.hidden\t__wrap_` + f.Name + `\n"` + "\n        "
	}
	return strings.NewReplacer("NAME", f.Name, "VISIBILITY", visibility).Replace(`__asm__("\t.pushsection .text\n\t.globl\t__wrap_NAME\n\t.hidden\t__cairn_hook_call\n"
        VISIBILITY"\t.type\t__wrap_NAME, @function\n__wrap_NAME:\n\t.cfi_startproc\n\tendbr64\n"
        "\tcall\t__cairn_hook_call\n\tjmp\t__real_NAME@PLT\n"
        "\t.cfi_endproc\n\t.size\t__wrap_NAME, . - __wrap_NAME\n\t.popsection\n");
`)
}

// declare returns the declaration of a name of a type.
func declare(t, name string) string {
	if strings.HasSuffix(t, "*") {
		return t + name
	}
	return t + " " + name
}

// comment returns text with ends of comments escaped.
func comment(text string) string { return strings.ReplaceAll(text, "*/", "* /") }

// LinkOptions are what a compiler driver passes to the linker for the wrappers.
// exported are functions that shared libraries of the link need from what is
// linked: a wrapped name is exported no more without the option.
func LinkOptions(functions []*Function, exported []string) []string {
	var out []string
	for _, f := range functions {
		out = append(out, "-Wl,--wrap="+f.Name)
	}
	for _, name := range exported {
		out = append(out, "-Wl,--export-dynamic-symbol="+name)
	}
	return out
}

package wrap

import (
	"fmt"
	"strings"
)

// preamble begins the source. A call at a function's end must not become a jump:
// the function would be left before it.
const preamble = `/* Wrappers made by cairn wrap. Compile them with
 *   cairn cc --mode spike --small 0 gcc -O2 -fexceptions -fno-lto -x c -c wrap.c
 * which gives them the code that times calls, and link with cairn cc as well, with
%s */
#if defined(__clang__)
#define CAIRN_WRAPPER __attribute__((noinline, used, visibility("hidden"), disable_tail_calls))
#else
#define CAIRN_WRAPPER __attribute__((noinline, used, visibility("hidden"), optimize("no-optimize-sibling-calls")))
#endif
`

// Text returns the C source of the wrappers. options are the linker's, which
// stand in its first comment.
func Text(functions []*Function, options []string) string {
	var lines strings.Builder
	for _, o := range options {
		fmt.Fprintf(&lines, " *   %s\n", comment(o))
	}
	var b strings.Builder
	fmt.Fprintf(&b, preamble, lines.String())
	for _, f := range functions {
		fmt.Fprintf(&b, "\n/* %s, by %s */\n%s", comment(f.Title), comment(f.Source), f.Before)
		b.WriteString(f.call())
	}
	return b.String()
}

// call returns the wrapper.
func (f *Function) call() string {
	params := make([]string, len(f.Params))
	args := make([]string, len(f.Params))
	for i, t := range f.Params {
		args[i] = fmt.Sprintf("a%d", i+1)
		params[i] = declare(t, args[i])
	}
	list := strings.Join(params, ", ")
	if list == "" {
		list = "void"
	}
	result := "return "
	if f.Result == "void" {
		result = ""
	}
	return fmt.Sprintf("extern %s(%s);\n%s(%s);\nCAIRN_WRAPPER %s(%s) { %s__real_%s(%s); }\n",
		declare(f.Result, "__real_"+f.Name), list, declare(f.Result, "__wrap_"+f.Name), list,
		declare(f.Result, "__wrap_"+f.Name), list, result, f.Name, strings.Join(args, ", "))
}

// declare returns the declaration of a name of a type.
func declare(t, name string) string {
	if strings.HasSuffix(t, "*") {
		return t + name
	}
	return t + " " + name
}

// comment returns text that ends no comment.
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

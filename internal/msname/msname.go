// Package msname demangles the names that MSVC's C++ has for functions, such as ?f@ns@@YAHPEBD@Z. There is no specification by
// Microsoft; the names are those that clang makes (lib/AST/MicrosoftMangle.cpp), and read by llvm-undname.
//
// A function reads as one of the Itanium ABI does, ns::f(char const*): without its access, calling convention and return type, and
// without "class" before the names of types, so that it reads alike in the reports of one program's builds for several systems.
package msname

import (
	"strconv"
	"strings"
)

// Limits of what a name may become: back references double it with two letters each.
const (
	maxSymbol = 1 << 13 // bytes of the symbol: compilers replace names of more than 4096 by a hash
	maxLength = 1 << 16 // bytes of the text
	maxWork   = 1 << 20 // bytes of all texts of its parts
	maxDepth  = 200
)

// maxSeen is the number of names, and of types of parameters, that back references can mean, by one digit.
const maxSeen = 10

// Demangle returns the text of a function's name, and whether it could be read. A short text has neither parameters nor the arguments of
// templates. Names of data that compilers make (tables of virtual functions, type information, strings) and those that clang
// replaced by a hash are not read.
func Demangle(symbol string, short bool) (string, bool) {
	if !strings.HasPrefix(symbol, "?") || len(symbol) > maxSymbol {
		return "", false
	}
	symbol, clone, _ := strings.Cut(symbol, ".")
	p := &parser{rest: symbol, short: short}
	text := p.handler()
	if text == "" && !p.bad {
		text = p.symbol()
	}
	if p.bad || p.rest != "" {
		return "", false
	}
	if clone != "" {
		text += " [clone ." + clone + "]"
	}
	return text, true
}

// HandlerOf returns the name of the function whose exceptions some code handles, and whether a name is that of such code: ?catch$2@?0?f@4HA
// is of f. The unwinder of MSVC's system calls it.
func HandlerOf(name string) (function string, ok bool) {
	for _, prefix := range []string{"?catch$", "?dtor$"} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			number, rest, found := strings.Cut(rest, "@?0?")
			function, ends := strings.CutSuffix(rest, "@4HA")
			return function, found && ends && function != "" && number != "" && strings.Trim(number, "0123456789") == ""
		}
	}
	return "", false
}

// parser reads a name from its beginning. What cannot be read sets bad and empties the rest, so that all loops end.
type parser struct {
	rest  string
	short bool
	bad   bool
	depth int
	work  int
	seen
}

// seen is what back references mean. The arguments of a template have their own.
type seen struct {
	names  []*piece
	params []*typ
}

// piece is a part of a qualified name.
type piece struct {
	key  string // the mangled text, by which a name is kept once
	name string
	args string // arguments of a template, with their brackets
	role role
}

// role is what the last piece of a name takes from the rest of it.
type role uint8

const (
	named       role = iota
	constructor      // the name of its class
	destructor
	conversion // the type that the function returns
)

func (p *parser) fail() {
	p.bad = true
	p.rest = ""
}

// take skips a prefix, and reports whether it is there.
func (p *parser) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = rest
	}
	return ok
}

// next returns the next byte, and 0 at the end, which is an error.
func (p *parser) next() byte {
	if p.rest == "" {
		p.fail()
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

// made counts a text that was put together.
func (p *parser) made(text string) string {
	p.work += len(text)
	if len(text) > maxLength || p.work > maxWork {
		p.fail()
		return ""
	}
	return text
}

// enter counts a level of nesting, which leave ends.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail()
	}
}

func (p *parser) leave() { p.depth-- }

// until returns the text before the next @, which it skips.
func (p *parser) until() string {
	text, rest, ok := strings.Cut(p.rest, "@")
	if !ok || text == "" {
		p.fail()
		return ""
	}
	p.rest = rest
	return text
}

// handler reads the name of a function that clang makes of a filter of __except, or of a __finally block: ?filt$0@0@, then that
// of the function which it belongs to, without its type.
func (p *parser) handler() string {
	for _, prefix := range []string{"filt", "fin"} {
		number, ok := strings.CutPrefix(p.rest, "?"+prefix+"$")
		number, rest, found := strings.Cut(number, "@0@")
		if !ok || !found {
			continue
		}
		p.rest = rest
		return p.made(qualified(p.qualifiedName()) + "::" + prefix + "$" + number)
	}
	return ""
}

// symbol reads a name with its leading ?.
func (p *parser) symbol() string {
	p.enter()
	if !p.take("?") {
		p.fail()
	}
	text := ""
	switch {
	case p.take("?__E"):
		text = p.dynamic("initializer")
	case p.take("?__F"):
		text = p.dynamic("atexit destructor")
	case p.take("?_9"):
		text = p.virtualCall()
	default:
		text = p.entity()
	}
	p.leave()
	return p.made(text)
}

// entity reads the name of a variable or a function, and its type.
func (p *parser) entity() string {
	name := p.qualifiedName()
	if !p.atVariable() {
		return p.function(name)
	}
	p.variable()
	if len(name) > 0 && name[len(name)-1].role == conversion {
		p.fail()
	}
	return qualified(name)
}

// dynamic reads the name of a function that initializes a variable, or destroys it at the end. Of a static member the whole name
// is there, with a ? of its own, and two @ end it; old versions of clang wrote one.
func (p *parser) dynamic(kind string) string {
	member := p.take("?")
	name := p.qualifiedName()
	if p.atVariable() {
		p.variable()
		if !p.take("@") || member && !p.take("@") {
			p.fail()
		}
	} else if member {
		p.fail()
	}
	p.function(nil)
	return "dynamic " + kind + " for " + qualified(name)
}

// virtualCall reads the name of a function that calls the virtual function at an offset of a class's table.
func (p *parser) virtualCall() string {
	class := p.scopes(nil)
	if !p.take("$B") {
		p.fail()
	}
	offset := p.number()
	if !p.take("A") {
		p.fail()
	}
	p.next() // the calling convention
	return qualified(class) + "::{vcall " + offset + "}"
}

// atVariable reports whether the type of a variable follows.
func (p *parser) atVariable() bool { return p.rest != "" && p.rest[0] >= '0' && p.rest[0] <= '4' }

// variable reads the type of a variable, which is not shown.
func (p *parser) variable() {
	p.next()
	t := p.typ(bare)
	if t.kind == pointer || t.kind == memberPointer {
		p.extended()
		p.qualifiers()
		if t.kind == memberPointer {
			p.qualifiedType()
		}
		return
	}
	p.qualifiers()
}

// function reads what follows the name of a function: its class, calling convention and type.
func (p *parser) function(name []*piece) string {
	p.take("$$J0") // extern "C"
	thunk, method := "", true
	switch c := p.next(); {
	case c == '9': // extern "C", of whose type nothing is said
		if len(name) > 0 && name[len(name)-1].role == conversion {
			p.fail()
		}
		return qualified(name)
	case c == '$':
		thunk = "virtual thunk to "
		adjustments := 2
		if p.take("R") {
			adjustments = 4
		}
		if c := p.next(); c < '0' || c > '5' {
			p.fail()
		}
		for range adjustments {
			p.number()
		}
	case c == 'Y' || c == 'Z':
		method = false
	case c < 'A' || c > 'X':
		p.fail()
	case (c-'A')%8 == 2 || (c-'A')%8 == 3: // static
		method = false
	case (c-'A')%8 >= 6:
		thunk = "non-virtual thunk to "
		p.number()
	}
	t := p.functionType(method)
	if len(name) > 0 && name[len(name)-1].role == conversion {
		last := name[len(name)-1]
		last.name = p.made("operator " + t.result.text())
		if p.short {
			last.args = ""
		}
	}
	text := thunk + qualified(name)
	if !p.short {
		text += t.call
	}
	return text
}

// number reads a number: a digit is one more than itself, others are in hexadecimal digits from A, and end with @.
func (p *parser) number() string {
	sign := ""
	if p.take("?") {
		sign = "-"
	}
	c := p.next()
	if c >= '0' && c <= '9' {
		return sign + strconv.Itoa(int(c-'0')+1)
	}
	var n uint64
	for ; c != '@'; c = p.next() {
		if c < 'A' || c > 'P' || n>>60 != 0 {
			p.fail()
			return ""
		}
		n = n<<4 | uint64(c-'A')
	}
	return sign + strconv.FormatUint(n, 10)
}

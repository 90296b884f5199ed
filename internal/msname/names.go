package msname

import (
	"slices"
	"strings"
)

// Operators by their letters: ?2 to ?9 and ?A to ?Z, then ?_0 to ?_9 and so on. Where there is no word, another code is meant.
const (
	operators = ". . new delete = >> << ! == != [] . -> * ++ -- - + & ->* / % < <= > >= , () ~ ^ | && || *= += -="
	assigning = "/= %= >>= <<= &= |= ^="
)

// helpers are functions that compilers make, by the letter behind ?_ (capital) and ?__ (small).
const helpers = "D{vbase destructor}|E{vector deleting destructor}|F{default constructor closure}|G{scalar deleting destructor}|H{vector constructor iterator}|" +
	"I{vector destructor iterator}|J{vector vbase constructor iterator}|K{virtual displacement map}|L{eh vector constructor iterator}|" +
	"M{eh vector destructor iterator}|N{eh vector vbase constructor iterator}|O{copy constructor closure}|T{local vftable constructor closure}|" +
	"Uoperator new[]|Voperator delete[]|loperator co_await|moperator<=>|"

// qualifiedName reads the name of a function or a variable, from its last part, and the namespaces and classes that it is in. The first piece
// of the result is the outermost.
func (p *parser) qualifiedName() []*piece {
	return p.scopes([]*piece{p.symbolPiece()})
}

// qualifiedType reads the name of a type.
func (p *parser) qualifiedType() string {
	return p.made(qualified(p.scopes([]*piece{p.typePiece()})))
}

// typePiece reads the last part of the name of a type.
func (p *parser) typePiece() *piece {
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		return p.seenName()
	case strings.HasPrefix(p.rest, "?$"):
		return p.classTemplate()
	}
	return p.remember(p.plain())
}

// classTemplate reads a template that is no function.
func (p *parser) classTemplate() *piece {
	x := p.template()
	if x.role != named {
		p.fail()
	}
	return p.remember(x)
}

// scopes reads the rest of a qualified name, up to its @.
func (p *parser) scopes(pieces []*piece) []*piece {
	for !p.bad && !p.take("@") {
		pieces = append(pieces, p.scope())
	}
	slices.Reverse(pieces)
	n := len(pieces)
	if n == 0 {
		return nil
	}
	if last := pieces[n-1]; last.role == constructor || last.role == destructor {
		if n < 2 {
			p.fail()
			return nil
		}
		last.name = pieces[n-2].name
		if last.role == destructor {
			last.name = "~" + last.name
		}
	}
	return pieces
}

// qualified joins the pieces of a name. Of one that is too long it is only what made refuses.
func qualified(pieces []*piece) string {
	var b strings.Builder
	for i, x := range pieces {
		if b.Len() > maxLength {
			break
		}
		if i > 0 {
			b.WriteString("::")
		}
		b.WriteString(x.name)
		b.WriteString(x.args)
	}
	return b.String()
}

func (p *parser) peek() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

// scope reads a namespace, a class, or a function, in which a name is.
func (p *parser) scope() *piece {
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		return p.seenName()
	case strings.HasPrefix(p.rest, "?$"):
		return p.classTemplate()
	case p.take("?A"): // followed by a number that distinguishes files
		key, rest, ok := strings.Cut(p.rest, "@")
		if !ok {
			p.fail()
		}
		p.rest = rest
		return p.remember(&piece{key: key, name: "(anonymous namespace)"})
	case c == '?':
		p.next()
		p.number()
		if !p.take("?") {
			p.fail()
		}
		return &piece{name: p.symbol()}
	}
	return p.remember(p.plain())
}

// plain reads a name that is there as it is.
func (p *parser) plain() *piece {
	name := p.until()
	return &piece{key: name, name: name}
}

// remember keeps a piece for back references.
func (p *parser) remember(x *piece) *piece {
	if len(p.names) == maxSeen || p.bad {
		return x
	}
	for _, y := range p.names {
		if x.key == y.key {
			return x
		}
	}
	p.names = append(p.names, x)
	return x
}

// seenName reads a back reference.
func (p *parser) seenName() *piece {
	i := int(p.next() - '0')
	if i >= len(p.names) {
		p.fail()
		return &piece{}
	}
	return p.names[i]
}

// symbolPiece reads the last part of a name of a function or a variable.
func (p *parser) symbolPiece() *piece {
	switch c := p.peek(); {
	case c >= '0' && c <= '9':
		return p.seenName()
	case strings.HasPrefix(p.rest, "?$"):
		return p.template() // functions are not kept
	case p.take("?"):
		return p.operator()
	}
	return p.remember(p.plain())
}

// operator reads the code of an operator or of another function with a name of its own.
func (p *parser) operator() *piece {
	table, helper := operators, byte(0)
	switch {
	case p.take("__"):
		if p.take("K") {
			return &piece{name: "operator\"\"" + p.until()}
		}
		table, helper = "", 'a'-'A'
	case p.take("_"):
		table = assigning
	}
	c := p.next()
	if table == operators {
		switch c {
		case '0':
			return &piece{role: constructor}
		case '1':
			return &piece{role: destructor}
		case 'B':
			return &piece{role: conversion}
		}
	} else if name := lookup(helpers, c+helper); name != "" && c >= 'A' && c <= 'Z' {
		return &piece{name: name}
	}
	i := int(c - '0')
	if c >= 'A' {
		i = int(c-'A') + 10
	}
	words := strings.Fields(table)
	if i >= len(words) || c > '9' && c < 'A' {
		p.fail()
		return &piece{}
	}
	word := words[i]
	if word[0] >= 'a' && word[0] <= 'z' {
		word = " " + word
	}
	return &piece{name: "operator" + word}
}

// template reads the name of a template and its arguments.
func (p *parser) template() *piece {
	p.enter()
	start := p.rest
	p.take("?$")
	outer := p.seen
	p.seen = seen{}
	x := p.symbolPiece()
	args := p.templateArgs()
	p.seen = outer
	p.leave()
	x.key = start[:len(start)-len(p.rest)]
	if p.short {
		return x
	}
	x.args = p.made("<" + args + ">")
	return x
}

// templateArgs reads the arguments of a template, up to their @.
func (p *parser) templateArgs() string {
	var args []string
	for !p.bad && !p.take("@") {
		if p.take("$S") || p.take("$$V") || p.take("$$$V") || p.take("$$Z") { // an empty pack, and between two
			continue
		}
		args = append(args, p.templateArg())
	}
	return strings.Join(args, ", ")
}

// templateArg reads an argument: a type, or a value behind $. Of a parameter whose type is auto that is first, and there is no $.
func (p *parser) templateArg() string {
	switch {
	case p.take("$$Y"):
		return p.qualifiedType()
	case p.take("$$B"):
		return p.typ(bare).text()
	case p.take("$$C"):
		return p.typ(qualifiedMode).text()
	case p.take("$M"):
		p.typ(bare)
		return p.templateValue()
	case strings.HasPrefix(p.rest, "$$") || p.peek() != '$':
		return p.typ(bare).text()
	}
	p.next()
	return p.templateValue()
}

// templateValue reads an argument that is no type.
func (p *parser) templateValue() string {
	numbers := 0
	var values []string
	switch c := p.next(); c {
	case '0':
		return p.number()
	case 'E': // a reference
		return p.symbol()
	case '1', 'H', 'I', 'J': // a pointer to a member, with what adjusts this
		if p.peek() == '?' {
			values = append(values, p.symbol())
		}
		numbers = strings.IndexByte("1HIJ", c)
	case 'F':
		numbers = 2
	case 'G':
		numbers = 3
	default:
		p.fail()
	}
	if numbers == 0 {
		return "&" + strings.Join(values, "")
	}
	for range numbers {
		values = append(values, p.number())
	}
	return "{" + strings.Join(values, ", ") + "}"
}

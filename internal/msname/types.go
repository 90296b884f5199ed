package msname

import "strings"

// typ is a type as it stands around what it is the type of: int (* and )[3].
type typ struct {
	left, right string
	kind        kind
	result      *typ   // of a function
	call        string // of a function: its parameters and what follows them
}

// kind is what matters for where qualifiers and pointers go.
type kind uint8

const (
	plain kind = iota
	pointer
	memberPointer
	array
	function
)

func (t *typ) text() string {
	if t.kind == function {
		return t.left + " " + t.right
	}
	return t.left + t.right
}

// mode is where a type stands, by which its qualifiers come first or not.
type mode uint8

const (
	bare          mode = iota // a parameter: none
	qualifiedMode             // what is pointed to: always
	resultMode                // what a function returns: behind ?
)

// primitives are types by their letter, and by that behind _, which is small here.
const primitives = "Xvoid|Dchar|Csigned char|Eunsigned char|Fshort|Gunsigned short|Hint|Iunsigned int|Jlong|Kunsigned long|Mfloat|Ndouble|Olong double|" +
	"nbool|jlong long|kunsigned long long|wwchar_t|qchar8_t|schar16_t|uchar32_t|pauto|tdecltype(auto)|"

// lookup returns the text of a letter in a table, or "".
func lookup(table string, c byte) string {
	for entry := range strings.SplitSeq(table, "|") {
		if entry != "" && entry[0] == c {
			return entry[1:]
		}
	}
	return ""
}

// typ reads a type.
func (p *parser) typ(m mode) *typ {
	p.enter()
	cv := ""
	if m == qualifiedMode || m == resultMode && p.take("?") {
		cv, _ = p.qualifiers()
	}
	t := p.unqualified()
	t.qualify(cv)
	t.left, t.right = p.made(t.left), p.made(t.right)
	p.leave()
	return t
}

// qualify adds qualifiers, which begin with a space.
func (t *typ) qualify(cv string) {
	switch {
	case cv == "" || t.kind == pointer && strings.HasSuffix(t.left, cv): // of a pointer it may be there twice
	case t.kind == function:
		t.right += cv
	default:
		t.left += cv
	}
}

func (p *parser) unqualified() *typ {
	switch {
	case p.take("$$Q"):
		return p.pointer("&&", "")
	case p.take("$$A8@@"):
		return p.functionType(true)
	case p.take("$$A6"):
		return p.functionType(false)
	case p.take("$$T"):
		return &typ{left: "std::nullptr_t"}
	case p.take("?"): // a type of the compiler's own
		name := p.typePiece()
		if !p.take("@") {
			p.fail()
		}
		return &typ{left: name.name + name.args}
	}
	switch c := p.next(); c {
	case 'A':
		return p.pointer("&", "")
	case 'P':
		return p.pointer("*", "")
	case 'Q':
		return p.pointer("*", " const")
	case 'R':
		return p.pointer("*", " volatile")
	case 'S':
		return p.pointer("*", " const volatile")
	case 'T', 'U', 'V':
		return &typ{left: p.qualifiedType()}
	case 'W':
		if p.next() != '4' {
			p.fail()
		}
		return &typ{left: p.qualifiedType()}
	case 'Y':
		return p.array()
	case '_':
		return p.primitive(p.next() + 'a' - 'A')
	default:
		return p.primitive(c)
	}
}

func (p *parser) primitive(c byte) *typ {
	name := lookup(primitives, c)
	if name == "" {
		p.fail()
	}
	return &typ{left: name}
}

// array reads the dimensions and the type of the elements.
func (p *parser) array() *typ {
	dims := ""
	rank := p.count()
	for ; rank > 0 && !p.bad; rank-- {
		n := p.number()
		if n == "0" {
			n = ""
		}
		dims += "[" + n + "]"
	}
	cv := ""
	if p.take("$$C") {
		cv, _ = p.qualifiers()
	}
	if dims == "" {
		p.fail()
	}
	t := p.typ(bare)
	return &typ{left: t.left + cv, right: dims + t.right, kind: array}
}

// count reads a number of things of which each takes a letter at least.
func (p *parser) count() int {
	text := p.number()
	n := 0
	for _, c := range text {
		if n = n*10 + int(c-'0'); c < '0' || n > len(p.rest) {
			p.fail()
			return 0
		}
	}
	return n
}

// pointer reads what follows the letter of a pointer or a reference, which has qualifiers of its own.
func (p *parser) pointer(sign, cv string) *typ {
	if p.take("6") {
		return around(p.functionType(false), "", sign, cv)
	}
	if p.take("8") {
		class := p.qualifiedType()
		return around(p.functionType(true), class, sign, cv)
	}
	cv += p.extended()
	if p.take("8") {
		class := p.qualifiedType()
		return around(p.functionType(true), class, sign, cv)
	}
	to, member := p.qualifiers()
	class := ""
	if member {
		class = p.qualifiedType()
	}
	t := p.typ(bare)
	t.qualify(to)
	return around(t, class, sign, cv)
}

// around returns a pointer to a type, or to a member of a class of that type.
func around(t *typ, class, sign, cv string) *typ {
	k, space := pointer, ""
	if class != "" {
		k, space = memberPointer, " "
		class += "::"
	}
	if t.kind == function || t.kind == array {
		return &typ{left: t.left + " (" + class + sign + cv, right: ")" + t.right, kind: k}
	}
	return &typ{left: t.left + space + class + sign + cv, right: t.right, kind: k}
}

// qualifiers reads the letter of const and volatile, and whether it says that a class follows, of whose member the type is.
func (p *parser) qualifiers() (cv string, member bool) {
	c := p.next()
	i := c - 'A'
	if member = c >= 'Q'; member {
		i = c - 'Q'
	}
	if i > 3 {
		p.fail()
		return "", false
	}
	if i&1 != 0 {
		cv = " const"
	}
	if i&2 != 0 {
		cv += " volatile"
	}
	return cv, member
}

// extended reads the letters that say more of a pointer: E for 64 bits, which is not shown, I for restrict and F for unaligned.
func (p *parser) extended() string {
	p.take("E")
	cv := ""
	if p.take("I") {
		cv = " __restrict"
	}
	if p.take("F") {
		cv += " __unaligned"
	}
	return cv
}

// functionType reads a function's type from its calling convention, or from the qualifiers of this.
func (p *parser) functionType(method bool) *typ {
	cv := ""
	if method {
		p.extended()
		ref := ""
		if p.take("G") {
			ref = " &"
		} else if p.take("H") {
			ref = " &&"
		}
		cv, _ = p.qualifiers()
		cv += ref
	}
	if c := p.next(); c < 'A' || c > 'Z' {
		p.fail()
	}
	result := &typ{}
	if !p.take("@") { // constructors return nothing
		result = p.typ(resultMode)
	}
	call := "(" + p.parameters() + ")" + cv
	if p.take("_E") {
		call += " noexcept"
	} else if !p.take("Z") {
		p.fail()
	}
	return &typ{left: result.left, right: p.made(call + result.right), kind: function, result: result, call: call}
}

// parameters reads the types of a function's parameters, up to @, or to Z if there may be more.
func (p *parser) parameters() string {
	if p.take("X") {
		return ""
	}
	var list []string
	for !p.bad {
		if p.take("@") {
			break
		}
		if p.take("Z") {
			list = append(list, "...")
			break
		}
		list = append(list, p.parameter())
	}
	return strings.Join(list, ", ")
}

// parameter reads the type of one parameter. Those of more than one letter are kept for back references.
func (p *parser) parameter() string {
	before := len(p.rest)
	if c := p.peek(); c >= '0' && c <= '9' {
		p.next()
		if int(c-'0') >= len(p.params) {
			p.fail()
			return ""
		}
		return p.made(p.params[c-'0'].text())
	}
	t := p.typ(bare)
	if before-len(p.rest) > 1 && len(p.params) < maxSeen {
		p.params = append(p.params, t)
	}
	return t.text()
}

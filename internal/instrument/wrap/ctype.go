package wrap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// maxVector is the size in bytes from which a vector's registers depend on the compiler's options.
const maxVector = 16

// typer names types in C, and declares structures for that.
type typer struct {
	prefix  string
	decls   strings.Builder
	structs int
}

// text returns a C type that is passed like t. Every pointer becomes void *: they are the same in the calling
// convention, and no header is needed.
func (y *typer) text(t *objfile.Type) (string, error) {
	switch t.Kind {
	case objfile.TypeVoid:
		return "void", nil
	case objfile.TypePointer:
		return "void *", nil
	case objfile.TypeBool:
		return "_Bool", sizeIs(t, 1)
	case objfile.TypeSigned, objfile.TypeUnsigned:
		return integer(t)
	case objfile.TypeFloat:
		return real(t, t.Size)
	case objfile.TypeComplex:
		name, err := real(t, t.Size/2)
		return "_Complex " + name, err
	case objfile.TypeVector:
		return y.vector(t)
	case objfile.TypeStruct, objfile.TypeUnion:
		return y.structure(t)
	case objfile.TypeUnknown:
		return "", fmt.Errorf("%s", t.Why)
	}
	return "", fmt.Errorf("type %s cannot be passed", t.Name)
}

func sizeIs(t *objfile.Type, size int64) error {
	if t.Size != size {
		return fmt.Errorf("type %s has %d bytes, not %d", t.Name, t.Size, size)
	}
	return nil
}

func integer(t *objfile.Type) (string, error) {
	names := map[int64]string{1: "char", 2: "short", 4: "int", 8: "long", 16: "__int128"}
	name, ok := names[t.Size]
	switch {
	case !ok:
		return "", fmt.Errorf("type %s is an integer of %d bytes", t.Name, t.Size)
	case t.Kind == objfile.TypeUnsigned:
		return "unsigned " + name, nil
	case t.Size == 1:
		return "signed char", nil
	}
	return name, nil
}

// otherReals have their own calling conventions.
var otherReals = []string{"__float128", "_Float128", "_Float16", "__bf16", "_Decimal32", "_Decimal64", "_Decimal128"}

func real(t *objfile.Type, size int64) (string, error) {
	switch {
	case slices.Contains(otherReals, t.Name):
		return t.Name, nil
	case size == 4:
		return "float", nil
	case size == 8:
		return "double", nil
	case size == 16:
		return "long double", nil
	}
	return "", fmt.Errorf("type %s is a number of %d bytes", t.Name, size)
}

func (y *typer) vector(t *objfile.Type) (string, error) {
	if t.Size > maxVector {
		return "", fmt.Errorf("it passes a vector of %d bytes, which depends on the -m options of the compiler", t.Size)
	}
	elem, err := y.text(t.Elem)
	if err != nil {
		return "", err
	}
	name := y.name()
	fmt.Fprintf(&y.decls, "typedef %s %s __attribute__((vector_size(%d)));\n", elem, name, t.Size)
	return name, nil
}

func (y *typer) name() string {
	y.structs++
	return fmt.Sprintf("%s_%d", y.prefix, y.structs)
}

// structure declares a structure with the same layout. The compiler of the wrapper checks it.
func (y *typer) structure(t *objfile.Type) (string, error) {
	title := t.Name
	if title == "" {
		title = "a structure without a name"
	}
	if len(t.Members) == 0 || t.Size == 0 {
		return "", fmt.Errorf("%s has no members in the debug information: C and C++ pass empty types differently", title)
	}
	keyword := "struct"
	if t.Kind == objfile.TypeUnion {
		keyword = "union"
	}
	var body, checks strings.Builder
	name := y.name()
	for i, m := range t.Members {
		declaration, err := y.member(m.Type, fmt.Sprintf("m%d", i+1))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&body, " %s;", declaration)
		fmt.Fprintf(&checks, "_Static_assert(__builtin_offsetof(%s %s, m%d) == %d, \"layout\");\n", keyword, name, i+1, m.Offset)
	}
	if natural, _ := layout(t); natural != t.Size || !placed(t) {
		return "", fmt.Errorf("%s is packed or aligned by an attribute, and passed by value", title)
	}
	fmt.Fprintf(&y.decls, "%s %s {%s };\n%s", keyword, name, body.String(), checks.String())
	fmt.Fprintf(&y.decls, "_Static_assert(sizeof(%s %s) == %d, \"size\");\n", keyword, name, t.Size)
	return keyword + " " + name, nil
}

// member returns the declaration of a member.
func (y *typer) member(t *objfile.Type, name string) (string, error) {
	if t.Kind == objfile.TypeArray {
		return y.member(t.Elem, fmt.Sprintf("%s[%d]", name, t.Count))
	}
	text, err := y.text(t)
	if err == nil && text == "void" {
		err = fmt.Errorf("member of type void")
	}
	return strings.TrimSuffix(text, " ") + " " + name, err
}

// layout returns the size and alignment of a type without attributes.
func layout(t *objfile.Type) (size, align int64) {
	switch t.Kind {
	case objfile.TypeStruct, objfile.TypeUnion:
		align = 1
		for _, m := range t.Members {
			s, a := layout(m.Type)
			align = max(align, a)
			at := int64(0)
			if t.Kind == objfile.TypeStruct {
				at = (size + a - 1) / a * a
			}
			size = max(size, at+s)
		}
		return (size + align - 1) / align * align, align
	case objfile.TypeArray:
		s, a := layout(t.Elem)
		return s * t.Count, a
	case objfile.TypeComplex:
		return t.Size, max(t.Size/2, 1)
	}
	return t.Size, max(t.Size, 1)
}

// placed reports whether the members of a structure have the same offsets as without attributes.
func placed(t *objfile.Type) bool {
	at := int64(0)
	for _, m := range t.Members {
		size, align := layout(m.Type)
		if at = (at + align - 1) / align * align; t.Kind == objfile.TypeUnion {
			at = 0
		}
		if m.Offset != at {
			return false
		}
		at += size
	}
	return true
}

// FromSignature returns the function of a signature. The error says why no
// wrapper can be made.
func FromSignature(s *objfile.Signature, source string) (*Function, error) {
	f := &Function{Name: s.Name, Title: Demangled(s.Name), Source: source}
	switch {
	case !word().MatchString(s.Name):
		return nil, errors.New("its name is not a C identifier")
	case !s.Known:
		return nil, fmt.Errorf("it is declared without parameters (old C), and %s does not define it: give its prototype with --prototype", source)
	case s.Variadic:
		return nil, errVariadic
	}
	y := typer{prefix: "cairn_" + s.Name}
	var err error
	if s.Result.ByReference {
		// The caller passes the address as the first argument, and the function returns it.
		f.Params = append(f.Params, "void *")
	}
	if f.Result, err = y.text(s.Result); err != nil {
		return nil, fmt.Errorf("its result: %w", err)
	}
	for i, p := range s.Params {
		text, err := y.text(p)
		if err == nil && text == "void" {
			err = fmt.Errorf("it is void")
		}
		if err != nil {
			return nil, fmt.Errorf("its parameter %d: %w", i+1, err)
		}
		f.Params = append(f.Params, text)
	}
	f.Before = y.decls.String()
	return f, nil
}

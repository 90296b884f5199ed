package objfile

import (
	"debug/dwarf"
	"fmt"
)

// TypeKind is the kind of a type, as calling conventions distinguish them.
type TypeKind uint8

// The kinds. Enumerations are integers, references and functions are pointers.
const (
	TypeUnknown TypeKind = iota // Why has the reason
	TypeVoid
	TypeSigned
	TypeUnsigned
	TypeBool
	TypeFloat
	TypeComplex
	TypePointer
	TypeStruct
	TypeUnion
	TypeArray
	TypeVector
)

// Type is a type with the properties that determine how it is passed to a function.
type Type struct {
	Kind TypeKind
	Name string // in the source, for messages; "" if it has none
	Size int64  // bytes
	Why  string // for an unknown type: why it cannot be passed

	Elem    *Type // of an array or a vector
	Count   int64
	Members []Member // of a structure or a union
	// ByReference reports a C++ class that is passed by address, and returned at an address
	// from the caller, because code runs when it is copied.
	ByReference bool
}

// Member is a part of a structure or a union.
type Member struct {
	Offset int64 // bytes
	Type   *Type
}

const (
	maxTypeDepth   = 32      // nesting depth of types
	maxTypeMembers = 1 << 12 // members of the types of one function
	maxElements    = 1 << 24

	tagReference       = dwarf.TagReferenceType
	encodingComplex    = 0x03
	encodingBool       = 0x02
	encodingFloat      = 0x04
	encodingSigned     = 0x05
	encodingSignedChar = 0x06
	encodingUnsigned   = 0x07
	encodingUChar      = 0x08
	encodingUTF        = 0x10

	byReference = 4 // DW_CC_pass_by_reference
	byValue     = 5

	attrGNUVector dwarf.Attr = 0x2107
)

// typeReader converts entries to types.
type typeReader struct {
	data    *dwarf.Data
	members int
}

func unknown(format string, args ...any) *Type {
	return &Type{Why: fmt.Sprintf(format, args...)}
}

// at returns the type at an offset. A damaged one is unknown.
func (t *typeReader) at(off dwarf.Offset, depth int) *Type {
	if depth > maxTypeDepth {
		return unknown("its types lie more than %d deep in each other", maxTypeDepth)
	}
	r := t.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil {
		return unknown("its debug information is damaged at offset %#x", off)
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	size, _ := e.Val(dwarf.AttrByteSize).(int64)
	switch e.Tag {
	case dwarf.TagBaseType:
		return baseType(e, name, size)
	case dwarf.TagPointerType, tagReference, dwarf.TagRvalueReferenceType, dwarf.TagSubroutineType:
		return &Type{Kind: TypePointer, Size: 8}
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType:
		to := t.of(e, depth)
		if to.Name == "" && name != "" {
			named := *to
			named.Name = name
			return &named
		}
		return to
	case dwarf.TagUnspecifiedType:
		return &Type{Kind: TypePointer, Size: 8, Name: name} // nullptr_t
	case dwarf.TagEnumerationType:
		return t.enumeration(e, name, size, depth)
	case dwarf.TagArrayType:
		return t.array(r, e, name, depth)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return t.structure(r, e, name, size, depth)
	case dwarf.TagPtrToMemberType:
		return unknown("a pointer to a member is among its types")
	}
	return unknown("type %q is of a kind (%v) that no C type has", name, e.Tag)
}

// of returns the type that an entry refers to; no type is void.
func (t *typeReader) of(e *dwarf.Entry, depth int) *Type {
	switch ref := e.Val(dwarf.AttrType).(type) {
	case dwarf.Offset:
		return t.at(ref, depth+1)
	case nil:
		return &Type{Kind: TypeVoid}
	}
	return unknown("one of its types is in a type unit: compile with -fno-debug-types-section")
}

func baseType(e *dwarf.Entry, name string, size int64) *Type {
	encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
	kinds := map[int64]TypeKind{
		encodingBool: TypeBool, encodingFloat: TypeFloat, encodingComplex: TypeComplex,
		encodingSigned: TypeSigned, encodingSignedChar: TypeSigned,
		encodingUnsigned: TypeUnsigned, encodingUChar: TypeUnsigned, encodingUTF: TypeUnsigned,
	}
	kind, known := kinds[encoding]
	if !known {
		return unknown("type %q has an encoding (%#x) that C does not know", name, encoding)
	}
	return &Type{Kind: kind, Name: name, Size: size}
}

func (t *typeReader) enumeration(e *dwarf.Entry, name string, size int64, depth int) *Type {
	kind := TypeUnsigned // if no signedness is given; the callee reads the same number of bytes in any case
	if base := t.of(e, depth); base.Kind == TypeSigned {
		kind = TypeSigned
	}
	return &Type{Kind: kind, Name: name, Size: size}
}

// array reads an array or a vector. An array parameter is a pointer in the source, so here an
// array can only be part of a structure.
func (t *typeReader) array(r *dwarf.Reader, e *dwarf.Entry, name string, depth int) *Type {
	out := &Type{Kind: TypeArray, Name: name, Elem: t.of(e, depth), Count: 1}
	if vector, _ := e.Val(attrGNUVector).(bool); vector {
		out.Kind = TypeVector
	}
	if out.Elem.Kind == TypeUnknown {
		return out.Elem
	}
	for child := range t.children(r, e) {
		if child.Tag != dwarf.TagSubrangeType {
			continue
		}
		n, ok := child.Val(dwarf.AttrCount).(int64)
		if !ok {
			upper, ok := child.Val(dwarf.AttrUpperBound).(int64)
			if !ok {
				return unknown("an array without a length is among its types")
			}
			n = upper + 1
		}
		if n <= 0 || n > maxElements || out.Count*n > maxElements {
			return unknown("an array of %d elements is among its types", n)
		}
		out.Count *= n
	}
	out.Size = out.Count * out.Elem.Size
	return out
}

// children yields the entries below e, which r has just read. It ends early if debug/dwarf
// returns an error.
func (t *typeReader) children(r *dwarf.Reader, e *dwarf.Entry) func(func(*dwarf.Entry) bool) {
	return func(yield func(*dwarf.Entry) bool) {
		if !e.Children {
			return
		}
		for range maxTypeMembers {
			child, err := r.Next()
			if err != nil || child == nil || child.Tag == 0 || !yield(child) {
				return
			}
			if child.Children {
				r.SkipChildren()
			}
		}
	}
}

// structure reads a structure, class or union.
func (t *typeReader) structure(r *dwarf.Reader, e *dwarf.Entry, name string, size int64, depth int) *Type {
	out := &Type{Kind: TypeStruct, Name: name, Size: size}
	if e.Tag == dwarf.TagUnionType {
		out.Kind = TypeUnion
	}
	if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); declared {
		return unknown("%s is only declared where the debug information was made", quoted(name))
	}
	convention, said := e.Val(dwarf.AttrCalling).(int64)
	if said && convention == byReference {
		return &Type{Kind: TypePointer, Name: name, Size: 8, ByReference: true}
	}
	for child := range t.children(r, e) {
		if t.members++; t.members > maxTypeMembers {
			return unknown("its types have more than %d members", maxTypeMembers)
		}
		if why := t.member(out, child, said && convention == byValue, depth); why != "" {
			return unknown("%s", why)
		}
	}
	return out
}

// member adds a child of a structure to it, or returns why it cannot be passed.
func (t *typeReader) member(out *Type, child *dwarf.Entry, byValue bool, depth int) (why string) {
	switch child.Tag {
	case dwarf.TagInheritance:
		return fmt.Sprintf("class %s has base classes and is passed by value", quoted(out.Name))
	case dwarf.TagSubprogram:
		if special, _ := child.Val(dwarf.AttrName).(string); !byValue && (special == out.Name || special == "~"+out.Name || out.Name == "") {
			return fmt.Sprintf("class %s has constructors or a destructor, and the debug information does not say whether it is passed by its address (clang's does)", quoted(out.Name))
		}
		return ""
	case dwarf.TagMember:
	default:
		return ""
	}
	for _, attr := range []dwarf.Attr{dwarf.AttrExternal, dwarf.AttrDeclaration} {
		if static, _ := child.Val(attr).(bool); static {
			return ""
		}
	}
	for _, attr := range []dwarf.Attr{dwarf.AttrBitSize, dwarf.AttrDataBitOffset} {
		if child.Val(attr) != nil {
			return fmt.Sprintf("%s has bit-fields and is passed by value", quoted(out.Name))
		}
	}
	offset, ok := child.Val(dwarf.AttrDataMemberLoc).(int64)
	if !ok && out.Kind == TypeStruct {
		return fmt.Sprintf("%s has a member whose place is computed", quoted(out.Name))
	}
	member := t.of(child, depth)
	switch {
	case member.Kind == TypeUnknown:
		return member.Why
	case member.ByReference:
		// A class with such a member is itself passed by address.
		return fmt.Sprintf("class %s has a member that is copied by code", quoted(out.Name))
	}
	out.Members = append(out.Members, Member{offset, member})
	return ""
}

func quoted(name string) string {
	if name == "" {
		return "a type without a name"
	}
	return name
}

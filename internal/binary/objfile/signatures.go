package objfile

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Signature describes how a function is called, from debug information.
type Signature struct {
	Name     string // linkage name
	Result   *Type  // never nil
	Params   []*Type
	Variadic bool
	// Known reports that the parameters are known. A function of old C that was declared
	// without parameters has none here and accepts any.
	Known   bool
	Defined bool // in the code that the debug information describes; otherwise only declared
}

// maxParams is the maximum number of parameters.
const maxParams = 256

// Signatures returns the signatures of the functions with a wanted linkage name, one for each
// name: that of its definition, or else of a declaration with parameters. The file is a
// module, an object or an archive of objects. Without debug information the error is
// ErrNoScopes, prefixed with the path.
func Signatures(path string, wanted func(name string) bool) ([]Signature, error) {
	r := signatureReader{wanted: wanted, found: map[string]Signature{}}
	err := eachImage(path, r.image)
	if err == nil && r.images > 0 && r.missing == r.images {
		err = fmt.Errorf("%s: %w", path, ErrNoScopes)
	}
	if err != nil {
		return nil, err
	}
	var out []Signature
	for _, s := range r.found {
		out = append(out, s)
	}
	stablesort.Func(out, func(a, b Signature) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

type signatureReader struct {
	wanted          func(string) bool
	found           map[string]Signature
	data            *dwarf.Data
	images, missing int
	isC             bool // of the current unit
}

// languagesC are DWARF's numbers of C: C89, C, C99, C11, C17.
var languagesC = []int64{0x01, 0x02, 0x0c, 0x1d, 0x2c}

// image reads the signatures of one image.
func (s *signatureReader) image(im *Image, _ string) (err error) {
	s.images++
	if im == nil { // bitcode
		s.missing++
		return nil
	}
	var d entrySections
	from, err := im.debugSections(&d)
	if err != nil {
		s.missing++
		return nil //nolint:nilerr // other members may have debug information
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: .debug_info: %w", from, err)
		}
	}()
	defer recoverTo(&err, "damaged")
	s.data, err = dwarf.New(d.abbrev, nil, nil, d.info, nil, nil, d.ranges, d.str)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		".debug_addr": d.addr, ".debug_line_str": d.lineStr, ".debug_rnglists": d.rnglists, ".debug_str_offsets": d.strOffsets,
	} {
		if err := s.data.AddSection(name, data); err != nil {
			return err
		}
	}
	return s.entries(len(d.info))
}

// entries reads all functions of the debug information, which has size bytes. Functions in
// functions are local and not visible to linkers.
func (s *signatureReader) entries(size int) error {
	r := s.data.Reader()
	for steps := 0; ; steps++ {
		e, err := r.Next()
		if err != nil || e == nil {
			return err
		}
		if steps > size {
			return fmt.Errorf("more entries than its %d bytes can hold", size)
		}
		switch e.Tag {
		case dwarf.TagCompileUnit:
			language, _ := e.Val(dwarf.AttrLanguage).(int64)
			s.isC = slices.Contains(languagesC, language)
			continue
		case 0, dwarf.TagPartialUnit, dwarf.TagNamespace,
			dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagModule:
			continue // it may contain functions
		case dwarf.TagSubprogram:
			if err := s.function(e); err != nil {
				return err
			}
		}
		if e.Children {
			r.SkipChildren()
		}
	}
}

// function stores the signature of a function, if it is wanted and better than the present
// one.
func (s *signatureReader) function(e *dwarf.Entry) error {
	chain := s.chain(e)
	sig := Signature{Name: chain.name}
	if sig.Name == "" || !s.wanted(sig.Name) {
		return nil
	}
	declared, _ := e.Val(dwarf.AttrDeclaration).(bool)
	sig.Defined = !declared && (e.Val(dwarf.AttrLowpc) != nil || e.Val(dwarf.AttrRanges) != nil)
	old, seen := s.found[sig.Name]
	if seen && (old.Known && (old.Defined || !sig.Defined)) {
		return nil
	}
	t := typeReader{data: s.data}
	sig.Result = &Type{Kind: TypeVoid}
	if chain.typed != nil {
		sig.Result = t.of(chain.typed, 0)
	}
	// The definition's own entry has the parameters; that of a copy of an inlined function has
	// only those with a location, and its origin has all. Definitions of C++ also have a
	// declaration with the same parameters.
	from := e
	if chain.origin != nil {
		from = chain.origin
	}
	r := s.data.Reader()
	r.Seek(from.Offset)
	if _, err := r.Next(); err != nil {
		return err
	}
	for child := range t.children(r, from) {
		switch child.Tag {
		case dwarf.TagUnspecifiedParameters:
			sig.Variadic = true
		case dwarf.TagFormalParameter:
			sig.Params = append(sig.Params, s.parameter(&t, child))
		}
		if n := len(sig.Params); n > 0 && s.isC && !chain.prototyped && sig.Params[n-1].Kind == TypeFloat && sig.Params[n-1].Size == 4 {
			sig.Params[n-1] = unknown("it is a float of old C, which is passed as a double")
		}
		if len(sig.Params) > maxParams {
			return fmt.Errorf("function %s has more than %d parameters", sig.Name, maxParams)
		}
	}
	sig.Known = sig.Defined || chain.prototyped || len(sig.Params) > 0
	s.found[sig.Name] = sig
	return nil
}

// parameter returns the type of a parameter, which may be that of its origin.
func (s *signatureReader) parameter(t *typeReader, e *dwarf.Entry) *Type {
	for range maxOriginSteps {
		if e.Val(dwarf.AttrType) != nil {
			break
		}
		ref, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			break
		}
		next := s.entry(ref)
		if next == nil {
			break
		}
		e = next
	}
	if e.Val(dwarf.AttrType) == nil {
		return unknown("a parameter without a type")
	}
	return t.of(e, 0)
}

// described is a function's entry combined with those that it refers to.
type described struct {
	name       string       // linkage name, or else the name in the source
	typed      *dwarf.Entry // has the type of the result; nil: void
	origin     *dwarf.Entry // abstract instance
	prototyped bool
}

func (s *signatureReader) chain(e *dwarf.Entry) (d described) {
	var linkage, plain string
	for range maxOriginSteps {
		if linkage == "" {
			linkage, _ = e.Val(dwarf.AttrLinkageName).(string)
		}
		if plain == "" {
			plain, _ = e.Val(dwarf.AttrName).(string)
		}
		if p, _ := e.Val(dwarf.AttrPrototyped).(bool); p {
			d.prototyped = true
		}
		if d.typed == nil && e.Val(dwarf.AttrType) != nil {
			d.typed = e
		}
		ref, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		isOrigin := ok
		if !ok {
			ref, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		next := s.entry(ref)
		if next == nil {
			break
		}
		if e = next; isOrigin {
			d.origin = e
		}
	}
	d.name = cmp.Or(linkage, plain)
	return d
}

func (s *signatureReader) entry(off dwarf.Offset) *dwarf.Entry {
	r := s.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil {
		return nil
	}
	return e
}

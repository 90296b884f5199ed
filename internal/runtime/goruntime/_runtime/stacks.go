package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// cairnNode is a function below its callers. The nodes of a tree belong to one goroutine at
// a time. They are written to the log in the order in which they were made.
//
// A function that is called again below itself has no further node: its caller has a link to
// the node above. So trees do not grow with the depth of a recursion.
type cairnNode struct {
	_     sys.NotInHeap
	pc    uintptr // behind the call of the probe; it tells calls of the function from others
	calls uint64
	self  int64         // ns
	table uintptr       // of nodes that calls below lead to, by pc: the ones used last
	mask  uintptr       // of offsets in the table
	slots [2]*cairnNode // the table, as long as it is small

	to        *cairnNode // the node itself; of a link, where it leads
	parent    *cairnNode
	first     *cairnNode // of those below, with links
	next      *cairnNode
	start     uintptr // of the function
	total     int64   // used while the tree is written
	owner     *cairnG // of the root: the goroutine that has the tree, or nil
	conflicts uint32  // times that two nodes wanted one place in the table
	kind      uint8   // one of the numbers below
	open      uint8   // used while the tree is written: 1 if a call goes on
	_         [7]byte // two lines of the cache
}

const (
	cairnKindCall   = 0
	cairnKindRoot   = 1
	cairnKindOrigin = 2 // who made the goroutine: it has no calls and time of its own
	cairnKindWait   = 3
)

const cairnNodeSize = unsafe.Sizeof(cairnNode{})

var (
	cairnNodes    cairnArena
	cairnMaking   cairnSpin // held while nodes are made
	cairnMade     uint64    // nodes that are complete
	cairnLost     uint64    // calls without a node, as there was no memory
	cairnTreeLock cairnSpin
)

// cairn_enter begins a call of its caller. It returns what the probe at the end of the call
// needs: the goroutine's cairnG, and the node of the call around it.
//
//go:nosplit
//go:linkname cairn_enter
func cairn_enter() (*cairnG, uintptr) {
	pc := sys.GetCallerPC()
	gp := getg()
	if n := (*cairnNode)(unsafe.Pointer(gp.cairn.node)); n != nil {
		if c := *n.slot(pc); c.pc == pc && cairnWord == gp.cairn.last {
			c.calls++
			gp.cairn.node = uintptr(unsafe.Pointer(c))
			return &gp.cairn, uintptr(unsafe.Pointer(n))
		}
	}
	return cairnEnter(pc)
}

// cairnEnter is cairn_enter for calls that need a node, or time added to one.
//
//go:noinline
func cairnEnter(pc uintptr) (*cairnG, uintptr) {
	g := &getg().cairn
	n := (*cairnNode)(unsafe.Pointer(g.node))
	if n == nil {
		if n = cairnAdopt(getg()); n == nil {
			return &cairnNoG, 0
		}
	}
	c := *n.slot(pc)
	if c.pc != pc {
		if c = n.child(pc, cairnKindCall); c == nil {
			return g, uintptr(unsafe.Pointer(n))
		}
		c = c.to
	}
	if w := cairnWord; w != g.last {
		n.self += w - g.last
		g.last = w
	}
	c.calls++
	g.node = uintptr(unsafe.Pointer(c))
	return g, uintptr(unsafe.Pointer(n))
}

// cairnNoG is what calls without a node end in.
var cairnNoG cairnG

// cairn_exit ends a call, and those in it that a panic left. Where the call is not deferred,
// a copy of it is in the package of the function.
//
//go:linkname cairn_exit
func cairn_exit(g *cairnG, around uintptr) {
	if cairnWord != g.last {
		cairn_tick(g)
	}
	g.node = around
}

// cairn_tick adds the time since the last look at the clock to the innermost call.
//
//go:linkname cairn_tick
func cairn_tick(g *cairnG) {
	w := cairnWord
	if n := (*cairnNode)(unsafe.Pointer(g.node)); n != nil {
		n.self += w - g.last
	}
	g.last = w
}

// child returns what is below n for a call; nil if there is no room.
func (n *cairnNode) child(pc uintptr, kind uint8) *cairnNode {
	c := n.first
	for c != nil && c.pc != pc {
		c = c.next
	}
	if c == nil {
		start := pc
		if kind != cairnKindWait {
			if f := findfunc(pc - 1); f.valid() {
				start = f.entry()
			}
		}
		if c = cairnNewNode(n, pc, start, kind); c == nil {
			atomic.Xadd64(&cairnLost, 1)
			return nil
		}
		c.next = n.first
		n.first = c
	}
	if c.to.pc == pc {
		n.remember(c.to)
	}
	return c
}

// slot returns the place in the table for what a call leads to.
func (n *cairnNode) slot(pc uintptr) **cairnNode {
	return (**cairnNode)(unsafe.Pointer(n.table + pc>>(cairnCodeAlign-3)&n.mask))
}

// cairnNoNode is in the places of tables that are free, so that probes need not look for nil.
var cairnNoNode cairnNode

const (
	cairnCodeAlign = 5    // functions begin at multiples of 32, mostly
	cairnMaxTable  = 1024 // nodes
)

// remember puts a node into the table, which grows if nodes push one another out.
func (n *cairnNode) remember(c *cairnNode) {
	at := n.slot(c.pc)
	size := n.mask/8 + 1
	if *at != &cairnNoNode {
		n.conflicts++
	}
	if n.conflicts <= uint32(size) || size == cairnMaxTable {
		*at = c
		return
	}
	n.conflicts = 0
	if t := cairnMemory.alloc(16 * size); t != 0 {
		n.table, n.mask = t, (2*size-1)*8
		for i := range 2 * size {
			*(**cairnNode)(unsafe.Pointer(t + 8*i)) = &cairnNoNode
		}
	}
	for k := n.first; k != nil; k = k.next {
		if k.to.pc == k.pc {
			*n.slot(k.pc) = k.to
		}
	}
	*n.slot(c.pc) = c
}

// cairnNewNode makes a node, or a link to a node of the same function above.
func cairnNewNode(parent *cairnNode, pc, start uintptr, kind uint8) *cairnNode {
	if kind == cairnKindCall {
		for a := parent; a != nil && a.kind == cairnKindCall; a = a.parent {
			if a.start == start {
				cairnTreeLock.lock()
				c := (*cairnNode)(unsafe.Pointer(cairnMemory.alloc(unsafe.Sizeof(cairnNode{}))))
				cairnTreeLock.unlock()
				if c != nil {
					c.pc, c.to = pc, a // what is called below is below a
				}
				return c
			}
		}
	}
	cairnMaking.lock()
	c := (*cairnNode)(unsafe.Pointer(cairnNodes.alloc(cairnNodeSize)))
	if c != nil {
		c.pc, c.to, c.parent, c.start, c.kind = pc, c, parent, start, kind
		c.table, c.mask = uintptr(unsafe.Pointer(&c.slots)), 8
		c.slots = [2]*cairnNode{&cairnNoNode, &cairnNoNode}
		atomic.Store64(&cairnMade, cairnMade+1)
	}
	cairnMaking.unlock()
	return c
}

// cairnInit begins a call of an init function of a package, also of one without probes; fn
// is where its address is. The time of these is that of an exact clock.
func cairnInit(fn unsafe.Pointer) uintptr {
	if cairnMode != cairnLogModeStacks {
		return 0
	}
	g := &getg().cairn
	n := (*cairnNode)(unsafe.Pointer(g.node))
	if n == nil {
		if n = cairnAdopt(getg()); n == nil {
			return 0
		}
	}
	c := n.child(*(*uintptr)(fn)+1, cairnKindCall)
	if c == nil {
		return 0
	}
	g.move(c.to)
	return uintptr(unsafe.Pointer(n))
}

func cairnInitDone(around uintptr) {
	if around == 0 {
		return
	}
	g := &getg().cairn
	c := (*cairnNode)(unsafe.Pointer(g.node))
	g.move((*cairnNode)(unsafe.Pointer(around)))
	if c.calls == 0 { // it has no probe that counted it
		c.calls = 1
	}
}

// move makes another node the innermost, and moves the clock before.
func (g *cairnG) move(to *cairnNode) {
	w := max(cairnNow(), cairnWord)
	atomic.Storeint64(&cairnWord, w)
	(*cairnNode)(unsafe.Pointer(g.node)).self += w - g.last
	g.last = w
	g.node = uintptr(unsafe.Pointer(to))
}

// beginWait begins a wait of the goroutine, and endWait ends it: what is from a time on is a wait
// for a processor.
func (g *cairnG) beginWait(w int64) {
	n := (*cairnNode)(unsafe.Pointer(g.node))
	n.self += w - g.last
	g.last = w
	c := n.child(abi.FuncPCABIInternal(cairnWaitFuncs[g.reason]), cairnKindWait)
	if c != nil {
		g.node = uintptr(unsafe.Pointer(c))
	}
}

func (g *cairnG) endWait(ready, w int64) {
	c := (*cairnNode)(unsafe.Pointer(g.node))
	if c.kind != cairnKindWait {
		g.last = w
		return
	}
	n := c.parent
	g.node = uintptr(unsafe.Pointer(n))
	if w > g.last {
		c.calls++
		c.self += ready - g.last
	}
	if w > ready && g.reason == cairnLogReasonProcessor {
		c.self += w - ready
	} else if w > ready {
		if c = n.child(abi.FuncPCABIInternal(cairnWaitFuncs[cairnLogReasonProcessor]), cairnKindWait); c != nil {
			c.calls++
			c.self += w - ready
		}
	}
	g.last = w
}

// cairnOrigin is a place where goroutines are made: a go statement, and the stack that it is
// in. Goroutines from one place use its trees one after the other, so there are as many as
// there were such goroutines at a time.
type cairnOrigin struct {
	_     sys.NotInHeap
	hash  uintptr
	next  *cairnOrigin
	free  *cairnFree
	lanes *cairnLane                   // mode trace: those that no goroutine has
	maker uintptr                      // mode trace: the innermost function with probes, or 0
	stack [cairnLogMaxStarters]uintptr // addresses in functions, the innermost first
	n     int
}

// cairnFree is a tree that no goroutine has.
type cairnFree struct {
	_    sys.NotInHeap
	root *cairnNode
	node *cairnNode
	next *cairnFree
}

const (
	cairnNumOrigins = 4096
)

var (
	cairnOrigins     [1024]*cairnOrigin
	cairnOriginCount int
	cairnOther       cairnOrigin // of goroutines from all places that there was no room for
	cairnMemory      cairnArena
	cairnFreeFree    *cairnFree
)

// cairnOriginOf returns the place of a go statement that gp runs; nil if the runtime makes
// the goroutine itself.
func cairnOriginOf(gp *g, gopc uintptr) *cairnOrigin {
	if gp.goid == 0 {
		return nil
	}
	var stack [cairnLogMaxStarters]uintptr
	stack[0] = gopc
	n, h, maker := 1, gopc, uintptr(0)
	if cairnMode == cairnLogModeTrace {
		n, maker = cairnLaneStack(gp, &stack), cairnMaker(gp)
	} else {
		n = cairnTreeStack(gp, &stack)
	}
	for _, pc := range stack[:n] {
		h = h*31 + pc
	}
	return cairnFindOrigin(h, stack[:n], maker)
}

// cairnTreeStack puts the functions that a goroutine is in behind the first element, which is the
// address of a go statement, and returns how many elements there are.
func cairnTreeStack(gp *g, stack *[cairnLogMaxStarters]uintptr) int {
	n, entry := 1, cairnEntry(stack[0])
	for c := (*cairnNode)(unsafe.Pointer(gp.cairn.node)); c != nil && n < cairnLogMaxStarters; c = c.parent {
		if c.kind == cairnKindCall || c.kind == cairnKindOrigin {
			// The innermost function is that of the go statement, unless it has no probe.
			if n == 1 && c.start == entry {
				stack[0] = c.pc
				continue
			}
			stack[n] = c.pc
			n++
		}
	}
	return n
}

// cairnFindOrigin returns the origin with a hash and a stack.
func cairnFindOrigin(h uintptr, stack []uintptr, maker uintptr) *cairnOrigin {
	at := &cairnOrigins[h%uintptr(len(cairnOrigins))]
	for o := (*cairnOrigin)(atomic.Loadp(unsafe.Pointer(at))); o != nil; o = o.next {
		if o.hash == h {
			return o
		}
	}
	cairnTreeLock.lock()
	o := *at
	for o != nil && o.hash != h {
		o = o.next
	}
	if o == nil && cairnOriginCount < cairnNumOrigins {
		if o = (*cairnOrigin)(unsafe.Pointer(cairnMemory.alloc(unsafe.Sizeof(cairnOrigin{})))); o != nil {
			cairnOriginCount++
			o.hash, o.n, o.maker, o.next = h, copy(o.stack[:], stack), maker, *at
			atomic.StorepNoWB(unsafe.Pointer(at), unsafe.Pointer(o))
		}
	}
	cairnTreeLock.unlock()
	if o == nil {
		return &cairnOther
	}
	return o
}

func cairnEntry(pc uintptr) uintptr {
	if f := findfunc(pc - 1); f.valid() {
		return f.entry()
	}
	return 0
}

// cairnAdopt gives a goroutine a tree and returns the node of its calls.
func cairnAdopt(gp *g) *cairnNode {
	if cairnMode != cairnLogModeStacks {
		return nil
	}
	o := (*cairnOrigin)(unsafe.Pointer(gp.cairn.origin))
	if o == nil {
		o = &cairnOther
	}
	cairnTreeLock.lock()
	f := o.free
	if f != nil {
		o.free = f.next
		f.next, cairnFreeFree = cairnFreeFree, f
	}
	cairnTreeLock.unlock()
	var root, n *cairnNode
	if f != nil {
		root, n = f.root, f.node
	} else {
		if root = cairnNewNode(nil, uintptr(gp.goid), 0, cairnKindRoot); root == nil {
			atomic.Xadd64(&cairnLost, 1)
			return nil
		}
		n = root
		for i := o.n - 1; i >= 0; i-- {
			if c := n.child(o.stack[i], cairnKindOrigin); c != nil {
				n = c
			}
		}
	}
	gp.cairn.root, gp.cairn.node, gp.cairn.last = uintptr(unsafe.Pointer(root)), uintptr(unsafe.Pointer(n)), cairnWord
	root.owner = &gp.cairn
	return n
}

// cairnFreeTree takes the tree of a goroutine that has ended.
func cairnFreeTree(gp *g) {
	n := (*cairnNode)(unsafe.Pointer(gp.cairn.node))
	n.self += cairnWord - gp.cairn.last
	for n.kind == cairnKindCall || n.kind == cairnKindWait {
		n = n.parent
	}
	root := (*cairnNode)(unsafe.Pointer(gp.cairn.root))
	root.owner = nil
	root.calls++ // goroutines
	o := (*cairnOrigin)(unsafe.Pointer(gp.cairn.origin))
	if o == nil {
		o = &cairnOther
	}
	cairnTreeLock.lock()
	f := cairnFreeFree
	if f != nil {
		cairnFreeFree = f.next
	} else {
		f = (*cairnFree)(unsafe.Pointer(cairnMemory.alloc(unsafe.Sizeof(cairnFree{}))))
	}
	if f != nil {
		f.root, f.node, f.next = root, n, o.free
		o.free = f
	}
	cairnTreeLock.unlock()
}

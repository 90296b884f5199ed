//go:build cairn && !(gc && amd64)

package mark

const portable = true

func here() (id, depth, pc uintptr) { return 0, 0, 0 }

func self() (id uintptr) { return 0 }

package runtime

import (
	"internal/runtime/atomic"
	_ "unsafe" // for linkname
)

// Channels of marks, by the bits that package mark has of them.
var (
	cairnChannelLock  cairnSpin
	cairnChannelNames [64]string
	cairnChannelCount int
	cairnChannelsOn   uint64
)

// cairn_mark_channel returns the bit of a channel. Those for which there is none share the last.
//
//go:linkname cairn_mark_channel
func cairn_mark_channel(name string) uint64 {
	on := cairnChannelSays(gogetenv("CAIRN_SPIKE"), name)
	cairnChannelLock.lock()
	defer cairnChannelLock.unlock()
	for i := range cairnChannelCount {
		if cairnChannelNames[i] == name {
			return 1 << i
		}
	}
	i := cairnChannelCount
	if i == len(cairnChannelNames) {
		return 1 << (i - 1)
	}
	cairnChannelNames[i] = name
	cairnChannelCount++
	if on {
		atomic.Or64(&cairnChannelsOn, 1<<i)
	}
	return 1 << i
}

// cairnChannelSays reports whether words say that a channel is on: channels=NAME+NAME, +NAME and
// -NAME, the last word about it. Without any it is on.
func cairnChannelSays(words, channel string) bool {
	on := true
	for len(words) > 0 {
		var word string
		word, words = cairnSplit(words, ',')
		switch name, list := cairnSplit(word, '='); {
		case name == "channels":
			on = false
			for len(list) > 0 {
				name, list = cairnSplit(list, '+')
				on = on || name == channel
			}
		case len(word) > 1 && word[1:] == channel && (word[0] == '+' || word[0] == '-'):
			on = word[0] == '+'
		}
	}
	return on
}

//go:linkname cairn_mark_channels
func cairn_mark_channels() uint64 { return atomic.Load64(&cairnChannelsOn) }

//go:linkname cairn_mark_switch
func cairn_mark_switch(bits uint64, on bool) {
	if on {
		atomic.Or64(&cairnChannelsOn, bits)
	} else {
		atomic.And64(&cairnChannelsOn, ^bits)
	}
}

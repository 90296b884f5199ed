package toolchain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/prof"
)

// slotAPI is the first version of Android whose C library leaves a thread-local slot at a fixed place to apps, Android 10.
const slotAPI = 29

// androidLacks returns a requested feature that programs for Android cannot have, or "". Target is the compiler's.
func (o *ShimOptions) androidLacks(target string) string {
	switch {
	case o.Prove:
		return "--prove supports x86-64 only"
	case !o.Mode.Timed():
		return ""
	case o.Machine == machine.Arm:
		return fmt.Sprintf("mode %v for Android supports AArch64 only: use a mode that records, such as full", o.Mode)
	case o.Runtime != "":
		return fmt.Sprintf("--shared-runtime is not supported in mode %v for Android: its loader gives the libraries of an app nothing from elsewhere", o.Mode)
	case o.Flight:
		return "--flight is not supported for Android: it needs more thread-local storage than the C library leaves to apps"
	case o.Mode == prof.ModeTrace && o.Depth > 0:
		return "--depth of mode trace is not supported for Android: it needs more thread-local storage than the C library leaves to apps"
	case o.Mode != prof.ModeSpike && apiLevel(target) < slotAPI:
		return fmt.Sprintf("mode %v needs the thread-local slot that Android has for apps since version 10: build for API level %d or later, such as aarch64-linux-android%d (target: %s)", o.Mode, slotAPI, slotAPI, target)
	}
	return ""
}

// apiLevel returns the API level that ends the name of a target for Android; 0 if there is none, where clang assumes the
// oldest.
func apiLevel(target string) int {
	_, level, _ := strings.Cut(target, "android")
	n, err := strconv.Atoi(strings.TrimPrefix(level, "eabi"))
	if err != nil {
		return 0
	}
	return n
}

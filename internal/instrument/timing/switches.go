package timing

import (
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// switches are functions that continue on another stack, and return when that one does the same: of the C library, of
// Boost.Context, of libco, and of the libraries of threads that are not the kernel's, which switch in code without probes.
// GNU Pth does so in all functions that may wait.
var switches = setOf(`swapcontext getcontext jump_fcontext ontop_fcontext co_switch
	pth_yield pth_nap pth_wait pth_join pth_cancel_point pth_uctx_switch pth_nanosleep pth_usleep pth_sleep pth_sigwait pth_sigwait_ev
	pth_mutex_acquire pth_rwlock_acquire pth_barrier_reach pth_cond_await pth_cond_notify pth_waitpid pth_system
	pth_select pth_select_ev pth_pselect pth_poll pth_poll_ev pth_connect pth_connect_ev pth_accept pth_accept_ev
	pth_read pth_read_ev pth_readv pth_readv_ev pth_pread pth_recv pth_recv_ev pth_recvfrom
	pth_write pth_write_ev pth_writev pth_writev_ev pth_pwrite pth_send pth_send_ev pth_sendto`)

// fiberSwitches are those of Boost.Fiber, by the beginnings of their symbols below boost::fibers.
var fiberSwitches = strings.Fields(`7context5yieldEv 7context7suspendE 7context6resumeE 7context15suspend_with_ccE 7context10wait_untilE 7context4joinEv
	5fiber4joinEv 5fiber6start_Ev 7barrier4waitEv 10wait_queue16suspend_and_waitE 10wait_queue22suspend_and_wait_untilE
	5mutex4lockEv 11timed_mutex4lockEv 11timed_mutex15try_lock_until_E
	15recursive_mutex4lockEv 21recursive_timed_mutex4lockEv 21recursive_timed_mutex15try_lock_until_E`)

func setOf(names string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, name := range strings.Fields(names) {
			set[name] = true
		}
		return set
	})
}

// changesStack reports whether a function may continue on another stack and return to this one.
func changesStack(callee string) bool {
	if switches()[callee] {
		return true
	}
	name, fiber := strings.CutPrefix(callee, "_ZN5boost6fibers")
	for _, s := range fiberSwitches {
		if fiber && strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

// suspends reports whether a function leaves its stack suspended until it returns.
func suspends(callee string) bool { return callee != "getcontext" && changesStack(callee) }

// leavesStack reports whether an instruction continues on another stack and does not return: this one goes on, if it does,
// where getcontext or swapcontext returns.
func leavesStack(in *bodyInsn) bool {
	return in.effect.callee == "setcontext" && (in.flow == asm.FlowCall || in.effect.tail)
}

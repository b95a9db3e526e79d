// Calls into a design that others have written: C++ in it ($c) may throw, or die of a signal. The caller goes
// on in either case, and the design is not called again.
#pragma once
#include <csetjmp>
#include <csignal>
#include <cstring>

namespace guard {

static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static const int COUNT = sizeof SIGNALS / sizeof *SIGNALS;

// Where this thread goes on; null outside of a design.
static thread_local sigjmp_buf *way_out;
static struct sigaction before[COUNT];

static void died(int number, siginfo_t *info, void *context) {
    if (way_out) {
        siglongjmp(*way_out, 1);
    }
    // Not the design's: as if this handler were not there.
    for (int at = 0; at < COUNT; at++) {
        if (SIGNALS[at] == number && before[at].sa_flags & SA_SIGINFO) {
            before[at].sa_sigaction(number, info, context);
            return;
        }
        if (SIGNALS[at] == number) {
            sigaction(number, &before[at], nullptr);
            raise(number);
        }
    }
}

static bool listen() {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = died;
    // On the thread's own stack for signals, as the handlers before; and again after leaving by a jump.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    for (int at = 0; at < COUNT; at++) {
        sigaction(SIGNALS[at], &action, &before[at]);
    }
    return true;
}

// True if the call has come back by itself.
template <typename Call> static bool alive(Call call) {
    static const bool listening = listen();
    (void)listening;
    sigjmp_buf here;
    if (sigsetjmp(here, 0)) {
        way_out = nullptr;
        return false;
    }
    way_out = &here;
    bool well = true;
    try {
        call();
    } catch (...) {
        well = false;
    }
    way_out = nullptr;
    return well;
}

}  // namespace guard

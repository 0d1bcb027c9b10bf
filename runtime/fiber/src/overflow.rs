//! An overflow of a fiber's stack ends the process with a sentence, as one of a thread's does.
//!
//! The write to the guard page raises SIGSEGV, whose handler runs on a stack of its own
//! (sigaltstack(2)). Faults elsewhere go to the handler that was there before.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// The addresses of the guard page of a stack; none if both are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) begin: usize,
    pub(crate) end: usize,
}

impl Guard {
    /// Takes this for the guard page of the stack on which this thread runs; returns the one
    /// before.
    #[inline]
    pub(crate) fn enter(self) -> Self {
        CURRENT.replace(self)
    }
}

/// Prepares this thread and this process for overflows.
///
/// # Errors
/// `ENOMEM` (mmap(2)).
pub(crate) fn watch_thread() -> io::Result<()> {
    CURRENT.set(Guard::default());
    PREVIOUS.get_or_init(install);
    // SAFETY: the call only writes to `before`.
    let before = unsafe {
        let mut before = MaybeUninit::<libc::stack_t>::zeroed();
        libc::sigaltstack(null(), before.as_mut_ptr());
        before.assume_init()
    };
    if before.ss_flags & libc::SS_DISABLE == 0 {
        return Ok(());
    }
    // SAFETY: a new mapping, which stays for ever: a thread that ends keeps its signal stack.
    let memory = unsafe {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(null_mut(), SIGNAL_STACK, protection, flags, -1, 0)
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIGNAL_STACK };
    // SAFETY: the memory is of this size and used for nothing else.
    if unsafe { libc::sigaltstack(&raw const stack, null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Installs the handler; returns the one before.
fn install() -> libc::sigaction {
    // SAFETY: `sigaction` is plain data, for which zero is a value; the handler has the type that
    // SA_SIGINFO demands.
    unsafe {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handle as extern "C" fn(_, _, _) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGSEGV, &raw const action, before.as_mut_ptr());
        before.assume_init()
    }
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid `siginfo_t`, which for SIGSEGV has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let guard = CURRENT.get();
    if (guard.begin..guard.end).contains(&address) {
        // SAFETY: write(2) and abort(3) are safe in signal handlers (signal-safety(7)).
        unsafe {
            libc::write(libc::STDERR_FILENO, SENTENCE.as_ptr().cast(), SENTENCE.len());
            libc::abort();
        }
    }
    pass_on(signal, info, context);
}

/// Calls the handler that was there before.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = PREVIOUS.get();
    let handler = before.map_or(libc::SIG_DFL, |action| action.sa_sigaction);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: the default action ends the process when the fault is raised again.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    } else if before.is_some_and(|action| action.sa_flags & libc::SA_SIGINFO != 0) {
        // SAFETY: with SA_SIGINFO the word is a handler of this type.
        let call: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
            unsafe { std::mem::transmute(handler) };
        call(signal, info, context);
    } else {
        // SAFETY: without SA_SIGINFO it is one of this type.
        let call: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
        call(signal);
    }
}

thread_local! {
    static CURRENT: Cell<Guard> = const { Cell::new(Guard { begin: 0, end: 0 }) };
}

static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

const SENTENCE: &str = "a task has overflowed its stack: give tasks larger stacks\n";

/// Enough for the handler and the registers of any supported CPU, AVX-512 and SVE included.
const SIGNAL_STACK: usize = 64 << 10;

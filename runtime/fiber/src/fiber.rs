//! A fiber, and what its function sees of the thread that resumes it.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use corosensei::{Coroutine, CoroutineResult};

use crate::overflow::Guard;
use crate::sanitizer::{self, Shadow};
use crate::stack::Stack;

/// A function on a stack of its own. At each resumption it has access to a `C` of its caller. It
/// suspends itself with a `Y`, and returns an `R`.
///
/// ```
/// use linerate_fiber::{Fiber, Frames, Stacks, Step, Yielder};
///
/// # fn main() -> std::io::Result<()> {
/// let mut stacks = Stacks::new(16 << 10)?;
/// let count = |mut yielder: Yielder<'_, u32, &'static str>| {
///     *yielder.context() += 1;
///     yielder.suspend("half-way");
///     *yielder.context() += 1;
///     *yielder.context()
/// };
/// let mut fiber = Fiber::new(stacks.take()?, Frames::BOUND, count);
/// assert!(matches!(fiber.resume(&mut 5), Step::Suspended("half-way")));
/// let Step::Finished(sum, stack) = fiber.resume(&mut 7) else { panic!("it has suspended") };
/// assert_eq!(sum, 8);
/// stacks.give(stack);
/// # Ok(())
/// # }
/// ```
pub struct Fiber<C: 'static, Y: 'static, R: 'static> {
    coroutine: Option<Coroutine<Input<C>, Y, Output<R>, Stack>>,
    /// Number of the thread on which it has begun; zero: it has not.
    thread: u64,
    frames: Frames,
    guard: Guard,
    shadow: Shadow,
    /// Borrow of the function.
    kept: Option<Kept>,
}

type Kept = Arc<dyn Any + Send + Sync>;

// SAFETY: the function is `Send`, and its frames are used only by the thread that made
// them (`resume`, `cancel` and `Drop` compare it), or by promise do not refer to a thread. `R` goes to that same thread.
unsafe impl<C, Y: Send, R: Send> Send for Fiber<C, Y, R> {}

/// End of one resumption of a fiber.
pub enum Step<Y, R> {
    /// It has suspended itself, and can be resumed.
    Suspended(Y),
    /// It has returned. Its stack is free.
    Finished(R, Stack),
    /// It has panicked, with this payload. Its stack is free.
    Panicked(Box<dyn Any + Send>, Stack),
}

/// Bonds of the frames of a suspended fiber: to its thread and to their destructors, or to
/// neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    are_bound: bool,
}

impl Frames {
    /// A fiber that has begun stays on its thread. One that is cancelled is unwound, as by a panic,
    /// so that its values are dropped. Where a panic aborts, its stack is kept for ever instead.
    pub const BOUND: Self = Self { are_bound: true };

    /// A fiber may go on in another thread. The frames of one that is cancelled are forgotten: no
    /// value is dropped, and the stack is used again. For functions of C, which cannot be unwound.
    ///
    /// # Safety
    /// Whenever a fiber that is made with this is suspended, nothing outside its stack may refer to
    /// its frames, and they may not refer to what is of a thread.
    pub const unsafe fn unbound() -> Self {
        Self { are_bound: false }
    }

    /// Whether a fiber stays on the thread on which it has begun.
    pub const fn are_bound(self) -> bool {
        self.are_bound
    }
}

/// Marker for the borrow of the function of [`Fiber::borrowing`].
struct Borrowed<K>(*const K);

// SAFETY: it is used as a shared reference.
unsafe impl<K: Sync> Send for Borrowed<K> {}

/// Argument of a resumption.
enum Input<C> {
    Go(*mut C),
    Cancel(*mut C),
}

type Output<R> = std::thread::Result<R>;

impl<C: 'static, Y: 'static, R: 'static> Fiber<C, Y, R> {
    /// A fiber that has not begun. Its function is moved to `stack`.
    ///
    /// # Panics
    /// If what the function captures takes more than a quarter of the stack.
    pub fn new<F>(stack: Stack, frames: Frames, function: F) -> Self
    where
        F: FnOnce(Yielder<'_, C, Y>) -> R + Send + 'static,
    {
        assert!(size_of::<F>() <= stack.size() / 4, "too much is captured for the stack");
        let guard = stack.guard();
        let coroutine = Coroutine::with_stack(stack, move |inner, input| {
            let result = catch_unwind(AssertUnwindSafe(|| match input {
                Input::Go(context) => function(Yielder { inner, context, is_cancelled: false }),
                Input::Cancel(_) => resume_unwind(Box::new(Cancelled)),
            }));
            sanitizer::leave();
            result
        });
        let shadow = Shadow::new();
        Self { coroutine: Some(coroutine), thread: 0, frames, guard, shadow, kept: None }
    }

    /// As [`Self::new`], of a function that borrows `kept`, which is dropped with the fiber even if
    /// the frames are discarded.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn borrowing<K, F>(stack: Stack, frames: Frames, kept: Arc<K>, function: F) -> Self
    where
        K: Any + Send + Sync,
        F: FnOnce(Yielder<'_, C, Y>, &K) -> R + Send + 'static,
    {
        let borrowed = Borrowed(Arc::as_ptr(&kept));
        let mut fiber = Self::new(stack, frames, move |yielder| {
            let Borrowed(kept) = { borrowed };
            // SAFETY: the fiber has a share in it for as long as it can be resumed, and if its
            // frames outlive it for ever.
            function(yielder, unsafe { &*kept })
        });
        fiber.kept = Some(kept);
        fiber
    }

    /// Begins the function, or lets it go on, until it suspends itself or ends.
    ///
    /// # Panics
    /// If it has ended, or is bound ([`Frames::BOUND`]) and has begun on another thread.
    #[inline]
    pub fn resume(&mut self, context: &mut C) -> Step<Y, R> {
        if self.frames.are_bound {
            let here = thread_number();
            if self.thread == 0 {
                self.thread = here;
            }
            assert!(self.thread == here, "a fiber stays on the thread on which it began");
        }
        self.switch(Input::Go(context))
    }

    /// Ends a fiber that must not go on; returns its stack. Destructors on it have access to
    /// `context`. Those of a
    /// bound fiber ([`Frames::BOUND`]) that began on another thread, or where a panic aborts, stay
    /// in use for ever: then nothing is returned.
    pub fn cancel(mut self, context: &mut C) -> Option<Stack> {
        let coroutine = self.coroutine.as_mut()?;
        if !coroutine.started() {
            // Nobody but the function is on the stack: it drops what it captured.
            return self.unwind(context);
        }
        if !self.frames.are_bound {
            return self.discard();
        }
        let can_unwind = cfg!(panic = "unwind") && self.thread == thread_number();
        if can_unwind { self.unwind(context) } else { None }
    }

    #[inline]
    fn switch(&mut self, input: Input<C>) -> Step<Y, R> {
        let coroutine = self.coroutine.as_mut().expect("a fiber that has not ended");
        let outer = self.guard.enter();
        self.shadow.enter();
        let result = coroutine.resume(input);
        outer.enter();
        let result = match result {
            CoroutineResult::Yield(value) => return Step::Suspended(value),
            CoroutineResult::Return(result) => result,
        };
        let stack = self.coroutine.take().expect("it was resumed").into_stack();
        match result {
            Ok(value) => Step::Finished(value, stack),
            Err(payload) => Step::Panicked(payload, stack),
        }
    }

    fn unwind(&mut self, context: &mut C) -> Option<Stack> {
        match self.switch(Input::Cancel(context)) {
            // A cancelled function cannot suspend itself.
            Step::Suspended(_) => None,
            Step::Finished(_, stack) | Step::Panicked(_, stack) => Some(stack),
        }
    }

    fn discard(&mut self) -> Option<Stack> {
        let mut coroutine = self.coroutine.take()?;
        // SAFETY: by the promise of `Frames::unbound` nothing refers to the frames.
        unsafe { coroutine.force_reset() };
        Some(coroutine.into_stack())
    }
}

/// A suspended fiber that is dropped keeps its stack for ever: its frames may be referred to.
/// [`Fiber::cancel`] gives the stack back.
impl<C: 'static, Y: 'static, R: 'static> Drop for Fiber<C, Y, R> {
    fn drop(&mut self) {
        if let Some(coroutine) = self.coroutine.take() {
            std::mem::forget((coroutine, self.kept.take()));
        }
    }
}

/// Inside a fiber: the access to whoever resumed it.
pub struct Yielder<'a, C: 'static, Y: 'static> {
    inner: &'a corosensei::Yielder<Input<C>, Y>,
    context: *mut C,
    is_cancelled: bool,
}

impl<C: 'static, Y: 'static> Yielder<'_, C, Y> {
    /// The context that the caller of [`Fiber::resume`] gave, until the fiber suspends itself.
    pub const fn context(&mut self) -> &mut C {
        // SAFETY: `resume` borrows it mutably until the fiber suspends itself, for which this
        // reference has to end, as both need `self` mutably.
        unsafe { &mut *self.context }
    }

    /// Suspends the fiber: [`Fiber::resume`] returns `value`. This returns when the fiber is
    /// resumed; if it is cancelled meanwhile its stack is unwound from here.
    ///
    /// # Panics
    /// If a destructor calls this while the stack is unwound since the fiber was cancelled.
    #[inline]
    pub fn suspend(&mut self, value: Y) {
        assert!(!self.is_cancelled, "a cancelled fiber suspended itself");
        sanitizer::leave();
        match self.inner.suspend(value) {
            Input::Go(context) => self.context = context,
            Input::Cancel(context) => {
                self.context = context;
                self.is_cancelled = true;
                resume_unwind(Box::new(Cancelled));
            }
        }
    }

    /// Whether the fiber was cancelled: its stack is being unwound, and it cannot suspend itself.
    pub const fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }
}

/// The payload with which a cancelled fiber is unwound.
struct Cancelled;

/// A number that no other thread of the process has or had.
#[inline]
fn thread_number() -> u64 {
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NUMBERS.fetch_add(1, Relaxed));
        }
        number.get()
    })
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

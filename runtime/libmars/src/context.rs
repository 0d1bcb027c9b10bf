//! `mars/context.h`: contexts and their tasks.

use std::io;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::available_parallelism;

use runtime::{Builder, TaskStacks};

use crate::code::{Code, require, returned};
use crate::table::Tasks;

/// A context, which C knows by its address.
pub struct mars_context {
    pub(crate) runtime: runtime::Context,
    pub(crate) tasks: RwLock<Tasks>,
    /// Whether it is that of the process.
    is_shared: bool,
}

/// The context of the process, and how many have created it.
struct Shared {
    address: usize,
    users: u32,
}

impl mars_context {
    fn start(mpus: usize, is_shared: bool) -> Result<usize, Code> {
        let stacks = TaskStacks::new(STACK_BYTES);
        let builder = Builder::new(mpus).name("mars").tasks(stacks);
        let runtime = builder.start().map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock => Code::Memory,
            _ => Code::Internal,
        })?;
        let context = Self { runtime, tasks: RwLock::default(), is_shared };
        Ok(Box::into_raw(Box::new(context)).expose_provenance())
    }

    fn mpus(&self) -> u32 {
        u32::try_from(self.runtime.mpus()).unwrap_or(u32::MAX)
    }

    fn has_tasks(&self) -> bool {
        let tasks = self.tasks.read().unwrap_or_else(PoisonError::into_inner);
        !tasks.is_empty()
    }
}

/// Creates a context of `num_mpus` threads that run tasks (0: as many as there are CPUs), or joins
/// that of the process.
///
/// Returns NULL for no `mars`; PARAMS for more MPUs than there are CPUs, or than MARS_NUM_MPUS says,
/// or than the shared context has; MEMORY; INTERNAL.
///
/// # Safety
/// `mars` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_context_create(
    mars: *mut *mut mars_context,
    num_mpus: u32,
    shared: u8,
) -> i32 {
    if mars.is_null() {
        return Code::Null as i32;
    }
    let made = if shared == 0 { create(num_mpus) } else { join(num_mpus) };
    let context = made.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut);
    // SAFETY: as promised.
    unsafe { mars.write(context) };
    returned(made.map(|_| ()))
}

fn create(num_mpus: u32) -> Result<usize, Code> {
    mars_context::start(checked(num_mpus)?, false)
}

fn join(num_mpus: u32) -> Result<usize, Code> {
    let mut shared = lock_shared();
    if let Some(shared) = shared.as_mut() {
        // SAFETY: it lives as long as it has users.
        let context: &mars_context = unsafe { &*ptr::with_exposed_provenance(shared.address) };
        require(num_mpus <= context.mpus(), Code::Params)?;
        shared.users += 1;
        return Ok(shared.address);
    }
    let address = mars_context::start(checked(num_mpus)?, true)?;
    *shared = Some(Shared { address, users: 1 });
    Ok(address)
}

/// Number of MPUs that is meant.
fn checked(num_mpus: u32) -> Result<usize, Code> {
    let cpus = available_parallelism().map_or(1, NonZeroUsize::get);
    let most = std::env::var("MARS_NUM_MPUS").ok().and_then(|text| text.parse().ok());
    let most = most.unwrap_or(cpus).clamp(1, MOST_MPUS);
    let wanted = usize::try_from(num_mpus).unwrap_or(usize::MAX);
    require(wanted <= most.max(cpus), Code::Params)?;
    Ok(if wanted == 0 { most } else { wanted })
}

/// Stops the MPUs, if nobody else uses the context.
///
/// Returns NULL for no context; STATE while tasks exist that were not destroyed.
///
/// # Safety
/// `mars` is null, or of [`mars_context_create`] and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_context_destroy(mars: *mut mars_context) -> i32 {
    // SAFETY: as promised.
    let Some(context) = (unsafe { mars.as_ref() }) else { return Code::Null as i32 };
    let mut shared = lock_shared();
    if context.is_shared
        && let Some(shared) = shared.as_mut()
        && shared.users > 1
    {
        shared.users -= 1;
        return 0;
    }
    if context.has_tasks() {
        return Code::State as i32;
    }
    if context.is_shared {
        *shared = None;
    }
    // SAFETY: it came from a box, and nobody uses it any more.
    drop(unsafe { Box::from_raw(mars) });
    0
}

/// The number of MPUs; 0 for no context.
///
/// # Safety
/// `mars` is null or of [`mars_context_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_context_get_num_mpus(mars: *mut mars_context) -> u32 {
    // SAFETY: as promised.
    unsafe { mars.as_ref() }.map_or(0, mars_context::mpus)
}

/// Stores the share of time in which MPU number `mpu` did not sleep, from 0 to 1.
///
/// Returns NULL for no context or result; PARAMS for no such MPU.
///
/// # Safety
/// `mars` is null or of [`mars_context_create`]; `share` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_context_utilisation(
    mars: *mut mars_context,
    mpu: u32,
    share: *mut f64,
) -> i32 {
    // SAFETY: as promised.
    let (Some(mars), Some(share)) = (unsafe { (mars.as_ref(), share.as_mut()) }) else {
        return Code::Null as i32;
    };
    let all = mars.runtime.utilisation();
    let one = all.get(mpu as usize).ok_or(Code::Params);
    returned(one.map(|one| *share = one.share()))
}

fn lock_shared() -> MutexGuard<'static, Option<Shared>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

/// Bytes of a task's stack: enough for what the C library does for printf(3).
const STACK_BYTES: usize = 64 << 10;
const MOST_MPUS: usize = 4096;

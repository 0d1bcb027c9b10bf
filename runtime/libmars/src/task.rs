//! `mars/task.h`: tasks, as the host, other tasks and they themselves use them.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::{Arc, PoisonError};

use runtime::{Args, Ending, Exit, Frames, Priority, Program, Task, TaskHandle};

use crate::base::{mars_get_ticks, pointer};
use crate::code::{Code, require, returned};
use crate::context::mars_context;
use crate::current;
use crate::table::{CreatedTask, Main, TaskFacts, mars_task_args, mars_task_id};

/// Arguments of a function of the host that a task calls, and its reply.
#[derive(Clone, Copy, Default)]
#[repr(C, align(16))]
pub struct mars_callback_args(pub [u64; 6]);

/// A program (`mars/task_image.h`).
#[repr(C)]
struct mars_task_image {
    magic: [u8; 8],
    size: u32,
    flags: u32,
    main: Option<Main>,
}

type Callback = extern "C" fn(*const mars_callback_args, *mut mars_callback_args) -> i32;

/// Creates a task of the program at `elf_image`. It is finished until it is scheduled.
///
/// Returns NULL for no context, id or program; PARAMS for a name of more than 21 characters, or too
/// large a `context_save_size`; FORMAT for what is no program; LIMIT if there are 65,535 tasks.
///
/// # Safety
/// Each pointer is null or as the header says; the program lives as long as the task.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_create(
    mars: *mut mars_context,
    id: *mut mars_task_id,
    name: *const c_char,
    elf_image: *const c_void,
    context_save_size: u32,
) -> i32 {
    // SAFETY: as promised.
    let (mars, id) = match unsafe { (mars.as_ref(), id.as_mut()) } {
        (Some(mars), Some(id)) => (mars, id),
        (_, id) => {
            if let Some(id) = id {
                id.mars_context_ea = 0;
            }
            return Code::Null as i32;
        }
    };
    id.mars_context_ea = 0;
    // SAFETY: as promised.
    let name = unsafe { name.as_ref().map(|name| CStr::from_ptr(name).to_bytes()) };
    // SAFETY: as promised.
    let main = unsafe { main_of(elf_image.cast()) };
    let created = main.and_then(|main| {
        require(context_save_size <= SAVE_SIZE_MAX, Code::Params)?;
        create(mars, name.unwrap_or_default(), main, context_save_size == 0)
    });
    returned(created.map(|created| *id = created))
}

/// The main function of a program.
///
/// # Safety
/// `image` is null, or at least eight bytes can be read there, and a whole image if they say so.
unsafe fn main_of(image: *const mars_task_image) -> Result<Main, Code> {
    require(!image.is_null(), Code::Null)?;
    // SAFETY: as promised.
    let magic = unsafe { (&raw const (*image).magic).read_unaligned() };
    require(magic == IMAGE_MAGIC && image.is_aligned(), Code::Format)?;
    // SAFETY: the magic says that it is an image.
    let image = unsafe { &*image };
    let size = usize::try_from(image.size).unwrap_or(0);
    require(size == size_of::<mars_task_image>() && image.flags == 0, Code::Format)?;
    image.main.ok_or(Code::Format)
}

fn create(
    mars: &mars_context,
    name: &[u8],
    main: Main,
    is_run_complete: bool,
) -> Result<mars_task_id, Code> {
    let mut bytes = [0; 22];
    require(name.len() < bytes.len(), Code::Params)?;
    bytes[..name.len()].copy_from_slice(name);
    let mut tasks = mars.tasks.write().unwrap_or_else(PoisonError::into_inner);
    let number = tasks.next()?;
    let context = ptr::from_ref(mars).expose_provenance() as u64;
    let id = mars_task_id { mars_context_ea: context, workload_id: number, name: bytes };
    let facts = TaskFacts { id, has_name: !name.is_empty(), main };
    // SAFETY: C must not let others use the stack of a task that is unscheduled while it waits, nor
    // keep what is of a thread across a wait; nor does `current`.
    let frames = unsafe { Frames::unbound() };
    let mut program = Program::new(move |task| begin(task, &facts)).frames(frames);
    if is_run_complete {
        program = program.run_complete();
    }
    let handle = TaskHandle::new(&mars.runtime, &String::from_utf8_lossy(name), program);
    tasks.add(CreatedTask { handle });
    Ok(id)
}

/// The root of the task's stack.
fn begin(task: &mut Task<'_>, facts: &TaskFacts) -> i32 {
    let args = mars_task_args(task.args().0);
    current::run(task, facts, || (facts.main)(&raw const args))
}

/// Destroys a task that has finished, and makes its id invalid.
///
/// Returns NULL for no id; PARAMS for an invalid one; STATE if the task has not finished.
///
/// # Safety
/// `id` is null, or of [`mars_task_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_destroy(id: *mut mars_task_id) -> i32 {
    // SAFETY: as promised.
    let Some(id) = (unsafe { id.as_mut() }) else { return Code::Null as i32 };
    // SAFETY: as promised.
    returned(unsafe { destroy(id) })
}

/// # Safety
/// The id is of [`mars_task_create`].
unsafe fn destroy(id: &mut mars_task_id) -> Result<(), Code> {
    // SAFETY: as promised.
    let context = unsafe { context_of(id) }?;
    let mut tasks = context.tasks.write().unwrap_or_else(PoisonError::into_inner);
    let task = tasks.get(id.workload_id).ok_or(Code::State)?;
    require(task.handle.try_wait().is_some(), Code::State)?;
    tasks.remove(id.workload_id);
    id.mars_context_ea = 0;
    Ok(())
}

/// # Safety
/// The id is of [`mars_task_create`], or its context is 0.
unsafe fn context_of<'a>(id: &mars_task_id) -> Result<&'a mars_context, Code> {
    require(id.mars_context_ea != 0, Code::Params)?;
    // SAFETY: as promised; the context lives while its tasks exist.
    Ok(unsafe { &*pointer::<mars_context>(id.mars_context_ea) })
}

/// The task of an id.
///
/// # Safety
/// `id` is null, or of [`mars_task_create`].
pub(crate) unsafe fn find(id: *const mars_task_id) -> Result<Arc<CreatedTask>, Code> {
    // SAFETY: as promised.
    let id = unsafe { id.as_ref() }.ok_or(Code::Null)?;
    // SAFETY: as promised.
    let context = unsafe { context_of(id) }?;
    let tasks = context.tasks.read().unwrap_or_else(PoisonError::into_inner);
    tasks.get(id.workload_id).cloned().ok_or(Code::State)
}

impl CreatedTask {
    pub(crate) fn signal(&self) {
        self.handle.signal();
    }
}

/// Lets a task begin that has finished. `args` may be null, and are then zero.
///
/// Returns NULL for no id; PARAMS for an invalid one; STATE if the task has not finished, or is
/// destroyed.
///
/// # Safety
/// `id` is null, or of [`mars_task_create`]; `args` is null or can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_schedule(
    id: *const mars_task_id,
    args: *const mars_task_args,
    priority: u8,
) -> i32 {
    let args = if args.is_null() {
        Args::default()
    } else {
        // SAFETY: as promised; C does not align its union more than its members.
        Args(unsafe { args.read_unaligned() }.0)
    };
    // SAFETY: as promised.
    returned(
        unsafe { find(id) }
            .and_then(|task| require(task.handle.schedule(args, Priority(priority)), Code::State)),
    )
}

/// Ends a task with `exit_code`. One that runs ends when it next waits, yields or exits.
///
/// Returns NULL for no id; PARAMS for an invalid one; STATE if the task has finished.
///
/// # Safety
/// `id` is null, or of [`mars_task_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_unschedule(id: *const mars_task_id, exit_code: i32) -> i32 {
    // SAFETY: as promised.
    let task = unsafe { find(id) };
    returned(task.and_then(|task| require(task.handle.unschedule(exit_code), Code::State)))
}

/// Waits until a task has finished. `exit_code` may be null.
///
/// Returns NULL for no id; PARAMS for an invalid one; STATE for one that is destroyed; FORMAT in a
/// run-complete task; MEMORY if the task could not begin.
///
/// # Safety
/// `id` is null, or of [`mars_task_create`]; `exit_code` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_wait(id: *const mars_task_id, exit_code: *mut i32) -> i32 {
    // SAFETY: as promised.
    let exit = unsafe { find(id) }.and_then(|task| {
        if current::is_task() {
            current::wait(|current| current.join(&task.handle))
        } else {
            Ok(task.handle.wait())
        }
    });
    // SAFETY: as promised.
    returned(exit.and_then(|exit| unsafe { tell(exit, exit_code) }))
}

/// As [`mars_task_wait`], without waiting.
///
/// Returns as that, and BUSY if the task has not finished.
///
/// # Safety
/// As of [`mars_task_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_try_wait(id: *const mars_task_id, exit_code: *mut i32) -> i32 {
    // SAFETY: as promised.
    let exit = unsafe { find(id) }.and_then(|task| task.handle.try_wait().ok_or(Code::Busy));
    // SAFETY: as promised.
    returned(exit.and_then(|exit| unsafe { tell(exit, exit_code) }))
}

/// # Safety
/// `exit_code` is null or can be written.
unsafe fn tell(exit: Exit, exit_code: *mut i32) -> Result<(), Code> {
    require(exit.ending != Ending::Panicked, Code::Memory)?;
    if !exit_code.is_null() {
        // SAFETY: as promised.
        unsafe { exit_code.write(exit.code) };
    }
    Ok(())
}

/// As `mars_get_ticks`.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_get_ticks() -> u32 {
    mars_get_ticks()
}

/// Ends the calling task. On the host it ends the process, as there is nothing to return to.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_exit(exit_code: i32) {
    // The task is not resumed, so that its call does not return.
    _ = current::with_task(|task| -> () { task.exit(exit_code) });
    std::process::abort();
}

/// Lets other ready tasks run.
///
/// Returns FORMAT in a run-complete task, STATE on the host.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_yield() -> i32 {
    returned(current::wait(|task| task.yield_now()))
}

/// Calls a `mars_callback` on a thread of the host, while other tasks run; returns what it returns.
/// `input` and `output` may be null.
///
/// Returns NULL for no function, STATE on the host, FORMAT in a run-complete task.
///
/// # Safety
/// `callback_ea` is 0 or a function of this type; `input` and `output` are null or as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mars_task_call_host(
    callback_ea: u64,
    input: *const mars_callback_args,
    output: *mut mars_callback_args,
) -> i32 {
    if callback_ea == 0 {
        return Code::Null as i32;
    }
    // SAFETY: as promised.
    let callback: Callback = unsafe { std::mem::transmute(pointer::<c_void>(callback_ea)) };
    // SAFETY: as promised.
    let given = unsafe { input.as_ref() }.copied().unwrap_or_default();
    let call = move || {
        let mut reply = mars_callback_args::default();
        (callback(&raw const given, &raw mut reply), reply)
    };
    match current::wait(|task| task.call_host(call)) {
        Ok((result, reply)) => {
            if !output.is_null() {
                // SAFETY: as promised.
                unsafe { output.write(reply) };
            }
            result
        }
        Err(code) => code as i32,
    }
}

/// The number of the MPU that runs the calling task; 0 on the host.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_get_kernel_id() -> u16 {
    let index = current::with_task(|task| task.mpu_index()).unwrap_or(0);
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// The id of the calling task, until it has ended; null on the host.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_get_id() -> *const mars_task_id {
    current::with_facts(|facts| &raw const facts.id).unwrap_or(ptr::null())
}

/// The name of the calling task, until it has ended; null on the host, and if it has none.
#[unsafe(no_mangle)]
pub extern "C" fn mars_task_get_name() -> *const c_char {
    let name = |facts: &TaskFacts| facts.has_name.then_some(facts.id.name.as_ptr().cast());
    current::with_facts(name).ok().flatten().unwrap_or(ptr::null())
}

const IMAGE_MAGIC: [u8; 8] = *b"\x7fMARSTK\0";
const SAVE_SIZE_MAX: u32 = 0x3c000;

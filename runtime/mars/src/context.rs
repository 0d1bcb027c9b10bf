//! A context with its MPUs, as a host thread starts and stops it.

use std::any::{Any, TypeId};
use std::io;
use std::ops::Deref;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use linux::event::EventFd;

use crate::account::{Account, Utilisation};
use crate::handle::Handle;
use crate::kernel::Kernel;
use crate::mpu::{Core, Mpu};
use crate::shared::{Shared, SharedQueue, Unit};
use crate::table::{Runs, Table, state};
use crate::time::Time;
use crate::workload::{Module, Next, Placement, Priority, Workload};

/// The settings of a [`Context`]: the number of its MPUs (worker threads), their CPUs, and the
/// [`Module`] of each kind of workload.
///
/// ```
/// use linerate_mars::{Builder, Mpu, Next, Priority, Workload};
///
/// struct Count(u32);
///
/// impl Workload for Count {
///     type Module = ();
///
///     fn run(&mut self, _mpu: &mut Mpu<'_, ()>) -> Next {
///         self.0 += 1;
///         if self.0 < 10 { Next::Yield } else { Next::Finished }
///     }
/// }
///
/// # fn main() -> std::io::Result<()> {
/// let context = Builder::new(2).start()?;
/// let mut count = context.add(Count(0));
/// count.schedule(Priority::NORMAL);
/// count.wait();
/// assert_eq!(count.begin().0, 10);
/// # Ok(())
/// # }
/// ```
pub struct Builder {
    name: String,
    mpus: usize,
    cpus: Vec<usize>,
    modules: Vec<Make>,
    /// Bytes of each MPU's local store; none: of its cache.
    #[cfg(feature = "tasks")]
    pub(crate) local_store: Option<usize>,
}

/// How each MPU makes a module.
struct Make {
    kind: TypeId,
    name: &'static str,
    call: Arc<dyn Fn(usize) -> io::Result<Box<dyn Any>> + Send + Sync>,
}

impl Builder {
    /// Settings of a context with `mpus` MPUs (worker threads), at least one, not pinned, and the
    /// module `()` for workloads that need no data of their MPU.
    pub fn new(mpus: usize) -> Self {
        let builder = Self {
            name: "mpu".to_owned(),
            mpus: mpus.max(1),
            cpus: Vec::new(),
            modules: Vec::new(),
            #[cfg(feature = "tasks")]
            local_store: None,
        };
        builder.module(|_| Ok(()))
    }

    /// Sets the name of the MPUs' threads, to which their numbers are appended.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Pins the MPUs (worker threads) to these CPUs: the first MPU to the first CPU, and so on,
    /// cyclically (sched_setaffinity(2)).
    #[must_use]
    pub fn pin(mut self, cpus: &[usize]) -> Self {
        cpus.clone_into(&mut self.cpus);
        self
    }

    /// Adds a kind of workload, given by its module `M`. Each MPU calls `make` with its number
    /// (from 0) on its own thread to make the module, so that memory is first touched where it is
    /// used.
    #[must_use]
    pub fn module<M: Module>(
        mut self,
        make: impl Fn(usize) -> io::Result<M> + Send + Sync + 'static,
    ) -> Self {
        self.modules.push(Make {
            kind: TypeId::of::<M>(),
            name: M::NAME,
            call: Arc::new(move |index| Ok(Box::new(make(index)?))),
        });
        self
    }

    /// Starts the MPUs, which are threads. Returns when each has created its modules.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open, `EAGAIN` if a thread cannot be started,
    /// `EINVAL` for a CPU on which this process may not run, or the first error or panic of a
    /// module.
    pub fn start(self) -> io::Result<Context> {
        let names: Vec<_> = self.modules.iter().map(|module| module.name).collect();
        let unit = || -> io::Result<Unit> {
            Ok(Unit {
                inbox: crate::inbox::Inbox::default(),
                sleep_state: crate::sleep_state::SleepState::default(),
                wake: EventFd::new()?,
                account: Account::new(&names),
                settled: crate::atomic::AtomicU32::new(0),
            })
        };
        let shared = Shared {
            table: Table::default(),
            queue: SharedQueue::default(),
            units: (0..self.mpus).map(|_| unit()).collect::<io::Result<_>>()?,
            idle: AtomicUsize::new(0),
            woken_in_vain: AtomicBool::new(false),
            revocations: crate::atomic::AtomicU32::new(0),
            stopping: false.into(),
            #[cfg(feature = "tasks")]
            host_calls: crate::host_calls::HostCalls::default(),
            #[cfg(feature = "tasks")]
            local_stores: crate::local_store::LocalStores::new(self.local_store, self.mpus),
            kinds: self.modules.iter().map(|module| module.kind).collect(),
        };
        let mut context = Context {
            workloads: Workloads::new(Arc::new(shared)),
            threads: Vec::with_capacity(self.mpus),
            thread_ids: Vec::with_capacity(self.mpus),
        };
        let modules = Arc::new(self.modules);
        for index in 0..self.mpus {
            let mpu_thread = MpuThread {
                index,
                shared: Arc::clone(&context.workloads.shared),
                modules: Arc::clone(&modules),
                cpu: self.cpus.get(index % self.cpus.len().max(1)).copied(),
            };
            let (started, start) = channel();
            let thread = std::thread::Builder::new().name(format!("{}-{index}", self.name));
            let thread = thread.stack_size(linux::process::STACK_BYTES);
            context.threads.push(thread.spawn(move || mpu_thread.run(&started))?);
            // A thread that ends without a message has panicked.
            let id = start.recv().unwrap_or_else(|_| Err(io::Error::other("a module panicked")))?;
            context.thread_ids.push(id);
        }
        Ok(context)
    }
}

/// What the thread of an MPU starts with.
struct MpuThread {
    index: usize,
    shared: Arc<Shared>,
    modules: Arc<Vec<Make>>,
    cpu: Option<usize>,
}

impl MpuThread {
    fn run(self, started: &Sender<io::Result<i32>>) -> io::Result<()> {
        match self.kernel() {
            Ok(mut kernel) => {
                // The receiver waits until it has this message.
                _ = started.send(Ok(linux::process::thread_id()));
                kernel.run()
            }
            Err(error) => {
                _ = started.send(Err(error));
                Ok(())
            }
        }
    }

    fn kernel(&self) -> io::Result<Kernel> {
        self.cpu.map_or(Ok(()), linux::host::pin_thread)?;
        linux::host::minimize_timer_slack();
        let modules = self.modules.iter().map(|module| (module.call)(self.index));
        let modules = modules.collect::<io::Result<Vec<_>>>()?;
        Kernel::new(self.index, Arc::clone(&self.shared), modules)
    }
}

/// A set of MPUs (worker threads) and the workloads that they run. Dropping it stops the MPUs,
/// whatever they run.
pub struct Context {
    workloads: Workloads,
    threads: Vec<JoinHandle<io::Result<()>>>,
    thread_ids: Vec<i32>,
}

impl Context {
    /// The thread ID of each MPU (gettid(2)), in the order of their numbers.
    pub fn thread_ids(&self) -> &[i32] {
        &self.thread_ids
    }

    /// Stops the MPUs (worker threads) and waits for their ends. Workloads that have not finished
    /// are unscheduled.
    ///
    /// # Errors
    /// The error that ended an MPU early: one of epoll_wait(2), or a panic.
    pub fn close(mut self) -> io::Result<()> {
        self.join()
    }

    fn join(&mut self) -> io::Result<()> {
        self.workloads.shared.stop();
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let panicked = |_| Err(io::Error::other("an MPU panicked"));
            result = result.and(thread.join().unwrap_or_else(panicked));
        }
        self.workloads.shared.unschedule_the_rest();
        result
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A caller that needs the error of an MPU calls `close`.
        _ = self.join();
    }
}

impl Deref for Context {
    type Target = Workloads;

    fn deref(&self) -> &Workloads {
        &self.workloads
    }
}

/// The workloads of a context: a handle by which more can be added. Clones refer to the same
/// context.
#[derive(Clone, Debug)]
pub struct Workloads {
    pub(crate) shared: Arc<Shared>,
}

impl Workloads {
    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Number of MPUs (worker threads) of the context.
    pub fn mpus(&self) -> usize {
        self.shared.units.len()
    }

    /// Adds a workload, which counts as finished until it is scheduled.
    ///
    /// # Panics
    /// If the context has no module for this kind of workload.
    pub fn add<W: Workload>(&self, workload: W) -> Handle<W> {
        Handle::new(Arc::clone(&self.shared), self.insert(workload))
    }

    /// Puts a workload into a cell; returns its id.
    fn insert<W: Workload>(&self, workload: W) -> u32 {
        let id = self.shared.table.allocate();
        let record = self.shared.table.record(id);
        record.kind.store(self.shared.kind_of::<W>(), Relaxed);
        let body = Box::new(Typed(workload));
        *record.cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        id
    }

    /// Adds a workload and schedules it with `priority` on the MPUs of `placement`. It has no
    /// handle and is dropped when it has finished.
    ///
    /// # Panics
    /// If the context has no module for this kind of workload, or no such MPU.
    pub fn spawn<W: Workload>(&self, workload: W, priority: Priority, placement: Placement) {
        let id = self.insert(workload);
        self.shared.schedule(id, priority, placement, state::ABANDONED);
    }

    /// Running time, idle time and turns of each MPU (worker thread) since its start.
    pub fn utilisation(&self) -> Vec<Utilisation> {
        let now = Time::now();
        self.shared.units.iter().map(|unit| unit.account.read(now)).collect()
    }
}

/// A workload behind the trait by which the MPU runs it.
pub(crate) struct Typed<W>(pub(crate) W);

impl<W: Workload> Runs for Typed<W> {
    fn run(&mut self, module: &mut dyn Any, core: &mut Core) -> Next {
        let module = module.downcast_mut().expect("the kind of its module");
        self.0.run(&mut Mpu { module, core })
    }

    fn unscheduled(&mut self, module: &mut dyn Any, core: &mut Core) {
        let module = module.downcast_mut().expect("the kind of its module");
        self.0.unscheduled(&mut Mpu { module, core });
    }
}

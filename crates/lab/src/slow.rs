//! A program that forwards frames between two interfaces, and takes a set time for each: a device
//! whose throughput is known.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linux::event::EventFd;
use linux::packet_socket::{MAX_FRAME_BYTES, PacketSocket};
use linux::poll::{PollFd, wait};

/// A thread that forwards, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Slow {
    is_over: Arc<AtomicBool>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Slow {
    /// Starts to forward between two interfaces of the calling thread's network namespace.
    pub(crate) fn start(
        interfaces: [u32; 2],
        cost: Duration,
        cpu: Option<usize>,
    ) -> io::Result<Self> {
        let open = |interface| PacketSocket::with_buffers(interface, queue(cost));
        let ends = [open(interfaces[0])?, open(interfaces[1])?];
        let (is_over, wake) = (Arc::new(AtomicBool::new(false)), Arc::new(EventFd::new()?));
        let forwarder = Forwarder { ends, cost, is_over: is_over.clone(), wake: wake.clone() };
        let thread = thread::Builder::new().name("slow device".to_owned());
        let thread = thread.spawn(move || {
            // It then runs wherever the kernel lets it.
            _ = cpu.map(linux::host::pin_thread);
            forwarder.run()
        })?;
        Ok(Self { is_over, wake, thread: Some(thread) })
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.wake.notify();
        // Its interfaces may have been removed first.
        _ = self.thread.take().map(JoinHandle::join);
    }
}

struct Forwarder {
    ends: [PacketSocket; 2],
    cost: Duration,
    is_over: Arc<AtomicBool>,
    wake: Arc<EventFd>,
}

impl Forwarder {
    fn run(&self) -> io::Result<()> {
        let mut buffer = vec![0; MAX_FRAME_BYTES];
        // When the work on the last frame was done.
        let mut free = linux::clock::monotonic();
        while !self.is_over.load(Ordering::Relaxed) {
            let mut count = 0;
            for (from, to) in self.ends.iter().zip(self.ends.iter().rev()) {
                let Some(length) = from.receive(&mut buffer)? else { continue };
                free += self.cost;
                while linux::clock::monotonic() < free {
                    std::hint::spin_loop();
                }
                // Without room the frame is lost. What sending takes is part of the next one's time.
                _ = to.send(&buffer[..length]);
                count += 1;
            }
            if count == 0 {
                self.rest()?;
                free = linux::clock::monotonic();
            }
        }
        Ok(())
    }

    fn rest(&self) -> io::Result<()> {
        let mut watches = [
            PollFd::readable(self.ends[0].as_fd()),
            PollFd::readable(self.ends[1].as_fd()),
            PollFd::readable(self.wake.as_fd()),
        ];
        wait(&mut watches, None)
    }
}

/// Memory for the frames that wait at each end, in bytes.
fn queue(cost: Duration) -> i32 {
    let frames = QUEUE.as_nanos() / cost.as_nanos().max(1);
    i32::try_from(frames).unwrap_or(i32::MAX).saturating_mul(FRAME).clamp(LEAST, MOST)
}

/// Time of work that waits: longer than a hypervisor keeps a CPU.
const QUEUE: Duration = Duration::from_millis(30);
/// Memory that the kernel counts for the longest frame of Ethernet, in bytes.
const FRAME: i32 = 2304;
/// Memory for several hundred frames, in bytes.
const LEAST: i32 = 512 * 1024;
const MOST: i32 = 16 * 1024 * 1024;

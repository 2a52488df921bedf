//! Threads that take tasks from one channel.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::EngineError;

/// A thread of the engine.
pub(crate) type Thread = JoinHandle<()>;

/// Starts a thread of this name.
pub(crate) fn spawn(
    name: String,
    body: impl FnOnce() + Send + 'static,
) -> Result<Thread, EngineError> {
    let spawned = Builder::new().name(name.clone()).spawn(body);
    spawned.map_err(|error| EngineError::Thread {
        name,
        message: error.to_string(),
    })
}

/// Runs code that may panic.
pub(crate) fn guarded<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // What the code leaves behind is dropped with its result, so nobody sees it half done.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panic_message(&*panic)))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without a message"))
}

/// Threads that take tasks from one channel. What waits in it is bounded by whoever sends: the scheduler's limits.
pub(crate) struct Pool<T> {
    tasks: Sender<T>,
}

impl<T: Send + 'static> Pool<T> {
    /// Starts `count` threads that run `run` on each task, and adds them to `threads`.
    pub(crate) fn new(
        name: &str,
        count: usize,
        threads: &mut Vec<Thread>,
        run: impl Fn(T) + Clone + Send + 'static,
    ) -> Result<Self, EngineError> {
        let (tasks, waiting) = unbounded();
        for number in 0..count {
            let (waiting, run): (Receiver<T>, _) = (waiting.clone(), run.clone());
            let name = format!("cuzk-{name}-{number}");
            threads.push(spawn(name, move || waiting.iter().for_each(run))?);
        }
        Ok(Self { tasks })
    }

    pub(crate) fn send(&self, task: T) {
        // The threads end when this sender is dropped, not before.
        drop(self.tasks.send(task));
    }
}

/// Waits for threads that were told to end, at most so long. One that hangs is left behind.
pub(crate) fn join_all(threads: Vec<Thread>, grace: Duration) {
    let until = Instant::now() + grace;
    for thread in threads {
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            // A panic was printed where it happened.
            drop(thread.join());
        }
    }
}

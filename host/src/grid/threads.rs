//! Threads for work that waits.

use std::thread;

/// Calls `work` on a thread of its own, which ends with it: a thread of a pool, and its stack, would stay for a while.
/// If the system starts none, it is called here.
pub fn on_own_thread(name: &str, work: impl FnOnce() + Send + 'static) {
    let work = OnDrop(Some(work));
    // What a thread that cannot be started was to call is dropped.
    let _ = thread::Builder::new().name(name.to_owned()).spawn(move || drop(work));
}

/// Calls a function when it is dropped.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            work();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_is_done_on_a_thread_of_that_name() {
        let (sender, receiver) = mpsc::channel();
        on_own_thread("of-its-own", move || {
            let _ = sender.send(thread::current().name().map(str::to_owned));
        });
        assert_eq!(receiver.recv(), Ok(Some("of-its-own".to_owned())));
    }

    #[test]
    fn work_is_done_once_also_where_no_thread_could_be_started() {
        let mut calls = 0;
        drop(OnDrop(Some(|| calls += 1)));
        assert_eq!(calls, 1);
    }
}

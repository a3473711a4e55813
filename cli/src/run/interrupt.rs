//! Ctrl-C.

use std::process::exit;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sateen_host::{Canceller, Run};

use crate::exit::{CANCELLED, Failure, say};

/// How long a cancelled run may take to end by itself. If it takes longer, a guest is in a bulk
/// operation, which only the end of the process can stop.
const PATIENCE: Duration = Duration::from_millis(500);

/// Ctrl-C and termination: the run is cancelled, and the process ends soon whatever happens.
pub struct Interrupt {
    canceller: Arc<Mutex<Option<Canceller>>>,
}

impl Interrupt {
    pub fn install() -> Result<Self, Failure> {
        let canceller: Arc<Mutex<Option<Canceller>>> = Arc::default();
        let of_handler = canceller.clone();
        let installed = ctrlc::set_handler(move || {
            let canceller = of_handler.lock().ok().and_then(|mut slot| slot.take());
            if let Some(canceller) = canceller {
                canceller.cancel();
                thread::sleep(PATIENCE);
            }
            say("cancelled");
            exit(i32::from(CANCELLED));
        });
        installed.map_err(|error| Failure::usage(format!("Ctrl-C cannot be handled: {error}")))?;
        Ok(Self { canceller })
    }

    pub fn watch(&self, run: &Run) {
        if let Ok(mut slot) = self.canceller.lock() {
            *slot = Some(run.canceller());
        }
    }
}

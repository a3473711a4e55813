//! Modules whose processes of guests have ended by themselves, or had to be killed.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sateen_protocol::BlobHash;

/// A module that has ended this number of processes of its guests is refused.
pub const STRIKES_MAX: u32 = 3;
/// Maximum modules that are remembered; those with the lowest hashes are forgotten first.
const MODULES_MAX: usize = 4096;

/// The modules, each with the number of times and the last reason.
#[derive(Debug, Default)]
pub struct Strikes(Mutex<BTreeMap<BlobHash, (u32, String)>>);

impl Strikes {
    /// A module has ended a process of its guests.
    pub fn note(&self, module: BlobHash, why: &str) {
        let mut modules = self.0.lock();
        let (count, last) = modules.entry(module).or_default();
        *count += 1;
        why.clone_into(last);
        if modules.len() > MODULES_MAX {
            modules.pop_first();
        }
    }

    /// Why a module is refused, if it is.
    pub fn refusal(&self, module: BlobHash) -> Option<String> {
        let modules = self.0.lock();
        let (count, why) = modules.get(&module).filter(|(count, _)| *count >= STRIKES_MAX)?;
        Some(format!(
            "this host no longer runs the app: it has ended the process of its guests {count} times, the last time \
             because {why}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_refused_after_three_times() {
        let strikes = Strikes::default();
        let module = BlobHash([1; 32]);
        for _ in 0..STRIKES_MAX {
            assert_eq!(strikes.refusal(module), None);
            strikes.note(module, "it ended by SIGSEGV");
        }
        assert!(
            strikes.refusal(module).is_some_and(|why| why.contains("3 times") && why.contains("SIGSEGV"))
        );
        assert_eq!(strikes.refusal(BlobHash([2; 32])), None);
        for number in 0..2 * MODULES_MAX as u64 {
            let mut hash = [3; 32];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            strikes.note(BlobHash(hash), "it ended");
        }
        assert_eq!(strikes.0.lock().len(), MODULES_MAX);
    }
}

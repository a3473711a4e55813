//! One entry on disk: a keyed hash, then the entry.
//!
//! The hash covers the run and the job as well, so that an entry that a broken index returns for another job or
//! run is a miss.

use sateen_protocol::{Entry, JobKey};

use super::StoredRun;

const HASH_BYTES: usize = 32;
const DOMAIN: &str = "sateen 2026 host store entry 1";

/// The bytes of an entry, or `None` if it cannot be encoded.
pub fn encode(run: StoredRun, entry: &Entry) -> Option<Vec<u8>> {
    let body = postcard::to_allocvec(entry).ok()?;
    Some([hash(run, &entry.key, &body).as_bytes(), body.as_slice()].concat())
}

/// The entry in the bytes, or `None` if they were not written for this job.
pub fn decode(run: StoredRun, key: &[u8], bytes: &[u8]) -> Option<Entry> {
    let key = JobKey(key.try_into().ok()?);
    let (written, body) = bytes.split_at_checked(HASH_BYTES)?;
    if hash(run, &key, body) != blake3::Hash::from_slice(written).ok()? {
        return None;
    }
    postcard::from_bytes::<Entry>(body).ok().filter(|entry| entry.key == key)
}

fn hash(run: StoredRun, key: &JobKey, body: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
    hasher.update(&run.grid.0.to_le_bytes());
    hasher.update(&run.run.0.to_le_bytes());
    hasher.update(&key.0);
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
pub mod tests {
    use sateen_protocol::{EntryState, Finished, GridId, Lineage, Outcome, RunId};

    use super::*;

    pub const RUN: StoredRun = StoredRun { grid: GridId(5), run: RunId(17) };

    /// A finished job; its result is `bytes` long.
    pub fn entry(job: u32, bytes: usize) -> Entry {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&job.to_be_bytes());
        let outcome = Outcome::Done(vec![job as u8; bytes].into());
        let finished = Finished { outcome, work_ns: u64::from(job), span_ns: 1 };
        Entry {
            key: JobKey(key),
            depth: 3,
            lineage: Lineage::default(),
            state: EntryState::Done(finished),
            is_earlier: false,
        }
    }

    #[test]
    fn every_broken_bit_is_a_miss() {
        let written = entry(7, 10);
        let bytes = encode(RUN, &written).expect("encodable");
        assert_eq!(decode(RUN, &written.key.0, &bytes), Some(written.clone()));
        for bit in 0..bytes.len() * 8 {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(RUN, &written.key.0, &broken), None, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(decode(RUN, &written.key.0, &bytes[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn an_entry_in_a_wrong_place_is_a_miss() {
        let bytes = encode(RUN, &entry(7, 10)).expect("encodable");
        assert_eq!(decode(RUN, &entry(8, 10).key.0, &bytes), None);
        let other = StoredRun { grid: GridId(6), ..RUN };
        assert_eq!(decode(other, &entry(7, 10).key.0, &bytes), None);
    }
}

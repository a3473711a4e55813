//! Limits how many bytes a host sends to another that asks for them. A request of a few bytes may have a long answer:
//! beyond a bound, answers travel as parcels, which the other host pulls as fast as it can receive them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::{ASKED_BYTES_AT_ONCE_MAX, ASKED_BYTES_PER_SECOND};
use crate::parcel::Contents;
use crate::{HostId, Time};

/// Bytes that a message is counted for besides its payload.
const MESSAGE_BYTES: u64 = 64;
/// Maximum remembered hosts; beyond it, those that may be sent the full amount again are forgotten.
const REMEMBERED_MAX: usize = 1024;

/// The bytes that hosts were sent because they asked.
#[derive(Debug, Default)]
pub struct Courtesy {
    /// When all that each host was sent would end if it had been sent at the steady rate.
    paid: BTreeMap<HostId, Time>,
}

impl Courtesy {
    /// Whether a host may be sent these contents in one piece. If so, counts their bytes.
    pub fn allows(&mut self, now: Time, to: HostId, contents: Contents, bytes: usize) -> bool {
        let is_asked_for = matches!(contents, Contents::Have { .. } | Contents::Replica { .. });
        if !is_asked_for || bytes == 0 {
            return true;
        }
        if self.paid.len() >= REMEMBERED_MAX {
            self.paid.retain(|_, paid| *paid > now);
        }
        let paid = self.paid.entry(to).or_default();
        let after = (*paid).max(now) + takes(bytes as u64 + MESSAGE_BYTES);
        let may = after <= now + takes(ASKED_BYTES_AT_ONCE_MAX);
        if may {
            *paid = after;
        }
        may
    }
}

fn takes(bytes: u64) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / ASKED_BYTES_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PEER, RUN, host, said};
    use super::super::{Host, Transmit};
    use super::*;
    use crate::host::Notice;
    use crate::limits::{PARCEL_BYTES_MIN, PARCELS_WITH_PEER_MAX};
    use crate::message::PeerMessage;
    use crate::{Finished, JobKey, Lineage, Outcome};

    fn key(job: u64) -> JobKey {
        let mut bytes = [1; 32];
        bytes[..8].copy_from_slice(&job.to_le_bytes());
        JobKey(bytes)
    }

    fn answered(host: &mut Host) -> usize {
        let lengths = said(host).into_iter().map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Have { finished: Some(finished), .. }) => {
                finished.outcome.bytes().len()
            }
            _ => 0,
        });
        lengths.sum()
    }

    #[test]
    fn a_host_that_asks_without_end_is_sent_a_bounded_number_of_bytes() {
        let mut host = host();
        let now = Time(1);
        let results = 2 * PARCELS_WITH_PEER_MAX as u64;
        for job in 0..results {
            let outcome = Outcome::Done(vec![0; PARCEL_BYTES_MIN].into());
            let finished = Finished { outcome, work_ns: 1 << 40, span_ns: 1 };
            let (key, lineage) = (key(job), Lineage::default());
            host.handle_notice(now, RUN, Notice::Recorded { key, depth: 1, lineage, finished });
        }
        said(&mut host);
        let ask = |host: &mut Host, now: Time, count: u64| {
            for number in 0..count {
                let key = key(number % results);
                host.handle_from_peer(now, PEER, PeerMessage::Want { run: RUN, key });
            }
        };
        ask(&mut host, now, 4096);
        let bytes = answered(&mut host);
        assert!(
            bytes as u64 <= ASKED_BYTES_AT_ONCE_MAX && bytes as u64 > ASKED_BYTES_AT_ONCE_MAX / 2,
            "{bytes}"
        );
        let (parcels, kept) = host.parcels();
        assert!(
            parcels <= PARCELS_WITH_PEER_MAX && kept <= parcels * (PARCEL_BYTES_MIN + 256),
            "{parcels}, {kept}"
        );
        // After a while it may be sent as much again.
        ask(&mut host, now + Duration::from_secs(10), 10);
        assert_eq!(answered(&mut host), 10 * PARCEL_BYTES_MIN);
    }
}

//! Root results that are too large for one message: see [`parcel`](crate::parcel).

use crate::frugal;
use crate::message::{ToCoordinator, ToHost};
use crate::parcel::{Arrival, Contents, ParcelMessage};
use crate::{HostId, Time};

use super::run::CoordinatorRun;
use super::{Coordinator, Misbehaviour};

impl Coordinator {
    pub(super) fn on_parcel(
        &mut self,
        now: Time,
        host: HostId,
        message: ParcelMessage,
    ) -> Result<(), Misbehaviour> {
        match message {
            ParcelMessage::Announce { parcel, contents, bytes } => {
                let Contents::RootFinished { run, number } = contents else {
                    return Err(Misbehaviour::Parcel);
                };
                if self.has_check(host, run, number) || self.run_of_result(host, run, number)?.is_some() {
                    let announced = self.incoming.announce(now, host, parcel, contents, bytes);
                    announced.map_err(|_| Misbehaviour::Parcel)?;
                } else {
                    self.send(host, ToHost::Acknowledged { run, number });
                    self.send(host, ToHost::Parcel(ParcelMessage::Refused { parcel }));
                }
            }
            ParcelMessage::Chunk { parcel, offset, bytes } => {
                let arrival = self.incoming.on_chunk(now, host, parcel, offset, &bytes);
                match arrival.map_err(|_| Misbehaviour::Parcel)? {
                    Arrival::Part | Arrival::Ignored => {}
                    Arrival::Unknown => {
                        self.send(host, ToHost::Parcel(ParcelMessage::Refused { parcel }));
                    }
                    Arrival::Whole(contents, bytes) => self.unpack(now, host, contents, &bytes)?,
                }
            }
            ParcelMessage::Withdrawn { parcel } => {
                self.incoming.on_withdrawn(now, host, parcel);
            }
            // The coordinator sends no parcels.
            ParcelMessage::Pull { .. } | ParcelMessage::Received { .. } | ParcelMessage::Refused { .. } => {}
        }
        self.send_pulls();
        Ok(())
    }

    /// A parcel is complete: it is handled as a message.
    fn unpack(
        &mut self,
        now: Time,
        host: HostId,
        contents: Contents,
        bytes: &[u8],
    ) -> Result<(), Misbehaviour> {
        let message: ToCoordinator = frugal::from_bytes(bytes).map_err(|_| Misbehaviour::Parcel)?;
        let is_announced = Contents::of_coordinator(&message).is_some_and(|(is, _)| is == contents);
        match message {
            ToCoordinator::RootFinished { run, number, finished } if is_announced => {
                // The host had the root when it announced the result; it may have given the root up meanwhile.
                let is_given_up =
                    |coordinator_run: &CoordinatorRun| !coordinator_run.root.is_claimed(host, number);
                if self.runs.get(&run).is_some_and(is_given_up) {
                    return Ok(());
                }
                self.on_root_finished(now, host, run, number, finished)
            }
            _ => Err(Misbehaviour::Parcel),
        }
    }

    fn send_pulls(&mut self) {
        while let Some((host, message)) = self.incoming.poll_message() {
            self.send(host, ToHost::Parcel(message));
        }
    }

    pub(super) fn time_out_parcels(&mut self, now: Time) {
        self.incoming.handle_timeout(now);
        self.send_pulls();
    }

    /// A host has come back on another link.
    pub(super) fn pull_again(&mut self, now: Time, host: HostId) {
        self.incoming.on_new_link(now, host);
        self.send_pulls();
    }

    pub(super) fn forget_parcels_of(&mut self, now: Time, host: HostId) {
        self.incoming.forget_peer(now, host);
        self.send_pulls();
    }
}

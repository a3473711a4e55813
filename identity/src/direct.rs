//! The session of a direct link. Its parts are in [`sateen_protocol::message::direct`].

use sateen_protocol::PublicKey;
use sateen_protocol::message::direct::{Caller, Challenge, DirectHello, Greeting};

use crate::key::Identity;
use crate::session::{Begun, Session, SessionError, answer, prologue};

const PURPOSE: &[u8] = b"sateen 2026-11 direct link\0";

/// Answers the challenge of a host that was dialled.
///
/// # Errors
/// If the key of the host that was dialled is not a valid one.
pub fn hello(
    own: &Identity,
    peer: &PublicKey,
    challenge: &Challenge,
    caller: Caller,
) -> Result<(Dialling, DirectHello), SessionError> {
    let (begun, first) = Begun::new(own, peer, &prologue(PURPOSE, &caller, &challenge.nonce))?;
    Ok((Dialling(begun), DirectHello::new(caller, first)))
}

/// The session of a link, and the greeting for the host that has dialled, if that is the host with this key.
///
/// # Errors
/// If it is not.
pub fn greet(
    own: &Identity,
    peer: &PublicKey,
    challenge: &Challenge,
    hello: &DirectHello,
) -> Result<(Session, Greeting), SessionError> {
    let prologue = prologue(PURPOSE, &hello.caller, &challenge.nonce);
    let (session, noise) = answer(own, peer, &prologue, &hello.noise)?;
    Ok((session, Greeting { noise }))
}

/// A handshake that waits for the greeting.
pub struct Dialling(Begun);

impl Dialling {
    /// The session of the link, if the greeting comes from the host that was dialled.
    ///
    /// # Errors
    /// If it does not.
    pub fn greeted(self, greeting: &Greeting) -> Result<Session, SessionError> {
        self.0.finish(&greeting.noise)
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{GridId, HostId};

    use super::*;

    const CALLER: Caller = Caller { grid: GridId(1), from: HostId(2), to: HostId(3) };

    #[test]
    fn only_the_two_hosts_complete_the_handshake_of_their_link() {
        let [dials, dialled, third] = [1, 2, 3].map(|number| Identity::from_secret(&[number; 32]));
        let challenge = Challenge::new([4; 16]);
        let (dialling, said) = hello(&dials, &dialled.public(), &challenge, CALLER).expect("keys");
        let greeted = |by: &Identity, as_whom: &Identity, challenge: &Challenge, said: &DirectHello| {
            greet(by, &as_whom.public(), challenge, said)
        };
        assert!(greeted(&dialled, &third, &challenge, &said).is_err(), "another host's key");
        assert!(greeted(&dialled, &dials, &Challenge::new([9; 16]), &said).is_err(), "overheard");
        let as_another = DirectHello::new(Caller { from: HostId(8), ..CALLER }, said.noise.clone());
        assert!(greeted(&dialled, &dials, &challenge, &as_another).is_err(), "another id");
        let (session, greeting) = greeted(&dialled, &dials, &challenge, &said).expect("it is right");
        let own = dialling.greeted(&greeting).expect("it is right");
        assert_eq!(own.open(&mut 0, &session.seal(&mut 0, b"job")).expect("unchanged"), b"job");
        let (dialling, _) = hello(&dials, &dialled.public(), &challenge, CALLER).expect("keys");
        assert!(dialling.greeted(&greeting).is_err(), "the greeting of another link");
    }
}

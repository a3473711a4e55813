//! Hosts that claim to be others.

use sateen_identity::Identity;
use sateen_protocol::codec::Encoder;
use sateen_protocol::identity::{Challenge, Proof, Signature};
use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_tests::forged_host::Principal;

use crate::host::{Host, hello};
use crate::server::{Server, detail, eventually};

/// The refusal of a host that sends these messages in its first frame.
fn refusal(host: &mut Host, messages: &[ToCoordinator]) -> String {
    let mut encoder = Encoder::default();
    messages.iter().for_each(|message| encoder.push(message).expect("short"));
    encoder.finish().into_iter().for_each(|frame| host.send_frame(frame));
    host.cut_off().0.expect("a refusal")
}

fn welcome(host: &mut Host) {
    host.until(|message| matches!(message, ToHost::Welcome { .. }).then_some(()));
}

#[test]
fn a_hello_that_is_not_proven_is_refused_by_name() {
    let server = Server::start();
    let mut overheard = Host::connect(&server.address);
    let [said, proof] = overheard.proven(&hello("one", None, Vec::new())).expect("a hello");
    let ToCoordinator::Proof(right) = &proof else { panic!("a proof") };
    let on_another_link = [said.clone(), proof.clone()];
    let short = overheard.key().public().short();
    let nobody = Proof { signature: Signature::default(), ..right.clone() };
    let mut another = said.clone();
    if let ToCoordinator::Hello { report, .. } = &mut another {
        report.direct = Some("192.0.2.9:1".to_owned());
    }
    for (messages, word) in [
        (vec![said.clone()], "did not prove its hello"),
        (vec![said.clone(), ToCoordinator::Leaving, proof.clone()], "did not prove its hello"),
        (vec![hello("one", None, Vec::new()), proof.clone()], "not a valid ed25519 key"),
        (on_another_link.to_vec(), &*format!("cannot prove that it has the key {short}")),
        (vec![another, proof.clone()], "cannot prove"),
        (vec![said.clone(), ToCoordinator::Proof(nobody)], "cannot prove"),
        (vec![proof.clone()], "did not say hello"),
    ] {
        let mut thief = Host::connect(&server.address);
        thief.challenge();
        let why = refusal(&mut thief, &messages);
        assert!(why.contains(word), "{why}, not {word}");
    }
    assert_eq!(server.json("/api/v1/status")["hosts"], 0);
    // On its own link it is right.
    let mut encoder = Encoder::default();
    [said, proof].iter().for_each(|message| encoder.push(message).expect("short"));
    overheard.send_frame(encoder.finish().remove(0));
    welcome(&mut overheard);
}

#[test]
fn each_link_has_a_challenge_of_its_own() {
    let server = Server::start();
    let mut challenges: Vec<Challenge> =
        (0..20).map(|_| Host::connect(&server.address).challenge()).collect();
    assert!(challenges.iter().all(|challenge| challenge.grid == challenges[0].grid));
    challenges.sort_by_key(|challenge| challenge.nonce);
    challenges.dedup();
    assert_eq!(challenges.len(), 20);
}

/// A thief who knows the id and its secret, and not the key.
#[test]
fn an_id_belongs_to_the_key_that_first_used_it() {
    let server = Server::start();
    let (good, identity) = Host::join(&server.address, "good");
    let key = good.key().public();
    let thief = Principal::new();
    let mut bad = Host::connect_as(&server.address, &thief);
    let challenge = bad.challenge();
    let mut said = hello("good", Some(identity), Vec::new());
    if let ToCoordinator::Hello { report, .. } = &mut said {
        report.key = thief.key.public();
    }
    let proof = thief.key.prove(&challenge, &said, 1, Vec::new());
    let why = refusal(&mut bad, &[said, ToCoordinator::Proof(proof)]);
    for word in [identity.0.to_string(), key.short(), thief.key.public().short()] {
        assert!(why.contains(&word), "{word} is not in {why}");
    }
}

#[test]
fn keys_are_listed_approved_and_revoked() {
    let server = Server::start();
    let (mut host, _) = Host::join(&server.address, "one");
    let key = host.key().public();
    let path = |what: &str| format!("/api/v1/keys/{}/{what}", key.short());
    let keys = server.json("/api/v1/keys");
    assert_eq!(keys.as_array().map(Vec::len), Some(1));
    assert_eq!((&keys[0]["key"], &keys[0]["state"]), (&key.to_string().into(), &"enrolled".into()));
    assert_eq!((&keys[0]["connected"], &keys[0]["address"]), (&true.into(), &"127.0.0.1".into()));
    let (status, _) = server.post(&path("revoke"), b"");
    assert_eq!(status, 200);
    let (refused, closed) = host.cut_off();
    assert!(refused.is_some_and(|why| why.contains("revoked")) && closed.contains("revoked"), "{closed}");
    let principal = Principal { key: host.key().clone(), instance: 2 };
    let mut again = Host::connect_as(&server.address, &principal);
    again.send(&[hello("one", None, Vec::new())]);
    assert!(again.cut_off().0.is_some_and(|why| why.contains("revoked")));
    assert_eq!(server.json("/api/v1/status")["misbehaviours"], 0, "it did nothing wrong");
    // What was decided survives the end of the process.
    let server = Server::start_in(server.kill());
    let mut again = Host::connect_as(&server.address, &principal);
    again.send(&[hello("one", None, Vec::new())]);
    assert!(again.cut_off().0.is_some_and(|why| why.contains("revoked")));
    assert_eq!(server.post(&path("approve"), b"").0, 200);
    let mut again = Host::connect_as(&server.address, &principal);
    again.send(&[hello("one", None, Vec::new())]);
    welcome(&mut again);
    drop(again);
    eventually("it is not connected", || {
        (server.json("/api/v1/keys")[0]["connected"] == false).then_some(())
    });
    for (path, status, word) in [
        ("/api/v1/keys/abc/approve", 400, "64 digits"),
        ("/api/v1/keys/0123456789/revoke", 404, "no key begins with"),
    ] {
        let (found, why) = detail(server.post(path, b""));
        assert!(found == status && why.contains(word), "{found} {why}");
    }
}

#[test]
fn a_rotation_that_one_key_alone_has_signed_counts_for_nothing() {
    let server = Server::start();
    let (host, _) = Host::join(&server.address, "one");
    let (first, second) = (host.key().clone(), Identity::generate().expect("randomness"));
    drop(host);
    eventually("it is gone", || (server.json("/api/v1/keys")[0]["connected"] == false).then_some(()));
    let rotation = first.replaced_by(&second);
    let mut forged = rotation;
    forged.signatures[0] = forged.signatures[1];
    let principal = Principal { key: second.clone(), instance: 2 };
    let mut bad = Host::connect_as(&server.address, &principal);
    bad.rotations = vec![forged];
    bad.send(&[hello("one", None, Vec::new())]);
    let why = bad.cut_off().0.expect("a refusal");
    assert!(why.contains("does not follow from its earlier keys"), "{why}");
    let mut good = Host::connect_as(&server.address, &principal);
    good.rotations = vec![rotation];
    good.send(&[hello("one", None, Vec::new())]);
    welcome(&mut good);
    let keys = server.json("/api/v1/keys");
    let earlier = keys
        .as_array()
        .and_then(|keys| keys.iter().find(|listed| listed["key"] == first.public().to_string().as_str()));
    assert_eq!(earlier.map(|earlier| &earlier["replaced_by"]), Some(&second.public().to_string().into()));
}

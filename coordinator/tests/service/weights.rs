//! What submitters get of a grid: weights, priorities, quotas.

use std::thread;

use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_protocol::{Priority, RunId, Share};
use serde_json::{Value, json};

use crate::guarded::{Guarded, start};
use crate::host::{Host, hello};
use crate::server::{Answer, detail, eventually};

/// Maximum runs that are given to hosts at once.
const RUNS_ACTIVE: usize = 8;

impl Guarded {
    /// A coordinator with an app.
    fn furnished() -> Self {
        let guarded = Self::start();
        assert_eq!(guarded.publish(&guarded.admin, "probe").0, 201);
        guarded
    }

    /// A submitter's token with these fields.
    fn submitter(&self, name: &str, fields: &Value) -> String {
        let mut request = json!({"scope": "submitter", "name": name});
        let fields = fields.as_object().expect("an object").clone();
        request.as_object_mut().expect("an object").extend(fields);
        self.make(&request)["secret"].as_str().expect("a secret").to_owned()
    }

    fn try_submit(&self, token: &str, priority: &str) -> Answer {
        let submission = json!({"app": "probe", "arguments": ["1"], "priority": priority}).to_string();
        self.ask_as(token, "POST", "/api/v1/runs", submission.as_bytes())
    }

    fn submit_with(&self, token: &str, priority: &str) -> u64 {
        let (status, body) = self.try_submit(token, priority);
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice::<Value>(&body).expect("JSON")["run"].as_u64().expect("a number")
    }

    fn cancel(&self, run: u64) {
        let cancelled = self.ask_as(&self.admin, "POST", &format!("/api/v1/runs/{run}/cancel"), b"");
        assert_eq!(cancelled.0, 202);
    }

    fn run(&self, run: u64) -> Value {
        self.json_as(&self.admin, &format!("/api/v1/runs/{run}"))
    }

    /// A host with a volunteer's token.
    fn host(&self, name: &str) -> Host {
        let mut host = Host::connect_with(&self.server.address, &self.token("volunteer", name));
        host.send(&[hello(name, None, Vec::new())]);
        host
    }

    fn restarted(self) -> Self {
        let Self { server, admin } = self;
        Self { server: start(server.kill()), admin }
    }
}

/// The shares with which a host is given these runs.
fn given(host: &mut Host, runs: &[u64]) -> Vec<Share> {
    let mut found = vec![None; runs.len()];
    while found.contains(&None) {
        let (run, share) = host.until(|message| match message {
            ToHost::StartRun { run, spec, .. } => Some((*run, spec.share)),
            _ => None,
        });
        if let Some(place) = runs.iter().position(|wanted| RunId(*wanted) == run) {
            found[place] = Some(share);
        }
    }
    found.into_iter().flatten().collect()
}

#[test]
fn tokens_have_weights_and_quotas_if_their_holders_submit() {
    let guarded = Guarded::start();
    let made =
        guarded.make(&json!({"scope": "submitter", "name": "ci", "weight": 1000, "runs_max": 1_000_000}));
    assert_eq!((&made["token"]["weight"], &made["token"]["runs_max"]), (&json!(1000), &json!(1_000_000)));
    guarded.make(&json!({"scope": "admin", "name": "boss", "weight": 1, "runs_max": 1}));
    guarded.make(&json!({"scope": "viewer"}));
    let guarded = guarded.restarted();
    let listed = guarded.json_as(&guarded.admin, "/api/v1/tokens");
    let listed: Vec<_> = listed.as_array().expect("a list").iter().collect();
    let listed: Vec<_> =
        listed.iter().map(|token| (token["weight"].as_u64(), token["runs_max"].as_u64())).collect();
    assert_eq!(listed, [(None, None), (Some(1000), Some(1_000_000)), (Some(1), Some(1)), (None, None)]);
    for (request, parts) in [
        (json!({"scope": "submitter", "weight": 0}), ["weight is 0", "from 1 to 1000"]),
        (json!({"scope": "submitter", "weight": 1001}), ["weight is 1001", "from 1 to 1000"]),
        (json!({"scope": "admin", "runs_max": 0}), ["runs_max is 0", "from 1 to 1000000"]),
        (json!({"scope": "admin", "runs_max": 1_000_001}), ["runs_max is 1000001", "from 1 to 1000000"]),
        (json!({"scope": "viewer", "weight": 2}), ["weight", "the scope submitter or admin"]),
        (json!({"scope": "volunteer", "runs_max": 2}), ["runs_max", "the scope submitter or admin"]),
    ] {
        let body = request.to_string();
        let (status, why) = detail(guarded.ask_as(&guarded.admin, "POST", "/api/v1/tokens", body.as_bytes()));
        assert!(status == 422 && parts.iter().all(|part| why.contains(part)), "{request}: {status} {why}");
    }
}

#[test]
fn a_token_has_no_more_runs_than_its_quota_until_some_are_over() {
    let guarded = Guarded::furnished();
    let ci = guarded.submitter("ci", &json!({"runs_max": 2}));
    let runs = [(); 2].map(|()| guarded.submit(&ci));
    let refused = |guarded: &Guarded, token: &str| detail(guarded.try_submit(token, "normal"));
    let expected = "the token `ci` may have 2 unfinished runs and has 2, suspended ones included; wait until one has \
                    ended, or cancel one with `sateen cancel`";
    assert_eq!(refused(&guarded, &ci), (429, expected.to_owned()));
    let listed = guarded.json_as(&guarded.admin, "/api/v1/runs");
    assert_eq!(listed[0]["submitter"], "ci", "{listed:#}");
    let suspended = guarded.ask_as(&ci, "POST", &format!("/api/v1/runs/{}/suspend", runs[0]), b"");
    assert_eq!((suspended.0, refused(&guarded, &ci).0), (202, 429), "a suspended run is not over");
    // Others are not affected, and an admin has a quota as well, if the token says so.
    guarded.submit(&guarded.submitter("ada", &json!({})));
    guarded.submit(&guarded.admin);
    let boss = guarded.make(&json!({"scope": "admin", "name": "boss", "runs_max": 1}));
    let boss = boss["secret"].as_str().expect("a secret").to_owned();
    guarded.submit(&boss);
    let (status, why) = refused(&guarded, &boss);
    assert!(status == 429 && why.contains("`boss` may have 1 unfinished run and has 1,"), "{why}");

    let guarded = guarded.restarted();
    assert_eq!(refused(&guarded, &ci).0, 429, "after a restart");
    guarded.cancel(runs[1]);
    eventually("there is room", || (guarded.try_submit(&ci, "normal").0 == 201).then_some(()));
    assert_eq!(refused(&guarded, &ci).0, 429);
}

#[test]
fn many_submissions_at_once_keep_to_the_quota() {
    let guarded = Guarded::furnished();
    let ci = guarded.submitter("ci", &json!({"runs_max": 3}));
    let statuses: Vec<u16> = thread::scope(|scope| {
        let submit = || guarded.try_submit(&ci, "normal").0;
        let all: Vec<_> = (0..12).map(|_| scope.spawn(submit)).collect();
        all.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    let accepted = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!(accepted, 3, "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 429].contains(status)), "{statuses:?}");
}

/// All requests come from one address.
#[test]
fn runs_have_shares_by_weight_and_priority() {
    let guarded = Guarded::furnished();
    let (ada, bob) = (guarded.submitter("ada", &json!({"weight": 3})), guarded.submitter("bob", &json!({})));
    let runs = [(&ada, "high"), (&ada, "normal"), (&bob, "low")]
        .map(|(token, priority)| guarded.submit_with(token, priority));
    assert_eq!(guarded.run(runs[0])["share"], Value::Null, "it is not given to any host");
    let mut host = guarded.host("one");
    let shares = given(&mut host, &runs);
    let of = |share: &Share| (share.weight, share.priority);
    let expected = [(3, Priority::High), (3, Priority::Normal), (1, Priority::Low)];
    assert_eq!(shares.iter().map(of).collect::<Vec<_>>(), expected);
    let numbers: Vec<u64> = shares.iter().map(|share| share.submitter).collect();
    assert!(numbers[0] == numbers[1] && numbers[0] != numbers[2] && numbers[2] > 0, "{numbers:?}");

    host.send(&runs.map(|run| ToCoordinator::Ready { run: RunId(run) }));
    let share = |guarded: &Guarded, run: u64| guarded.run(run)["share"].as_f64();
    let all = |guarded: &Guarded| runs.map(|run| share(guarded, run));
    let running = eventually("all are running", || {
        let shares = all(&guarded);
        shares.iter().all(Option::is_some).then(|| shares.map(Option::unwrap_or_default))
    });
    for (share, expected) in running.iter().zip([0.6, 0.15, 0.25]) {
        assert!((share - expected).abs() < 1e-9, "{running:?}");
    }
    let listed = guarded.json_as(&ada, "/api/v1/runs");
    let listed = listed.as_array().expect("a list").iter().map(|run| (run["run"].as_u64(), &run["priority"]));
    assert_eq!(
        listed.collect::<Vec<_>>(),
        [(Some(runs[1]), &json!("normal")), (Some(runs[0]), &json!("high"))]
    );

    // What a run was due goes to the submitter's others, and then to other submitters.
    guarded.cancel(runs[0]);
    eventually("of two", || (share(&guarded, runs[1]) == Some(0.75)).then_some(()));
    guarded.cancel(runs[1]);
    eventually("of one", || (share(&guarded, runs[2]) == Some(1.0)).then_some(()));
    assert_eq!(share(&guarded, runs[1]), None, "it is over");

    // Hosts know a submitter by the same number after a restart.
    let more = guarded.submit_with(&ada, "low");
    let guarded = guarded.restarted();
    let mut host = guarded.host("two");
    let shares = given(&mut host, &[runs[2], more]);
    assert_eq!([shares[0].submitter, shares[1].submitter], [numbers[2], numbers[0]]);
    assert_eq!(shares.iter().map(of).collect::<Vec<_>>(), [(1, Priority::Low), (3, Priority::Low)]);
}

/// All requests come from one address.
#[test]
fn places_are_shared_among_tokens() {
    let guarded = Guarded::furnished();
    let (ada, bob) = (guarded.submitter("ada", &json!({})), guarded.submitter("bob", &json!({})));
    let of_ada: Vec<u64> = (0..=RUNS_ACTIVE).map(|_| guarded.submit(&ada)).collect();
    let of_bob = guarded.submit(&bob);
    // After a restart, places go to the oldest runs, but each submitter has one first.
    let guarded = guarded.restarted();
    let mut host = guarded.host("one");
    given(&mut host, &[of_bob]);
    // A free place goes to the submitter with the fewest.
    let more_of_bob = guarded.submit(&bob);
    guarded.cancel(of_ada[0]);
    let next = host.until(|message| match message {
        ToHost::StartRun { run, .. } if run.0 > of_ada[RUNS_ACTIVE - 2] => Some(run.0),
        _ => None,
    });
    assert_eq!(next, more_of_bob);
}

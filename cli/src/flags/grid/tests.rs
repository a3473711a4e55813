use sateen_protocol::{Priority, Trust};

use super::*;

#[test]
fn choices_are_spelled_as_the_coordinator_does() {
    fn typed(choice: &impl ValueEnum) -> Option<String> {
        choice.to_possible_value().map(|value| value.get_name().to_owned())
    }
    for choice in Stealing::value_variants() {
        let sent = serde_json::json!(sateen_protocol::Stealing::from(*choice));
        assert_eq!(sent.as_str(), typed(choice).as_deref());
    }
    for choice in FaultTolerance::value_variants() {
        let sent = serde_json::json!(sateen_protocol::FaultTolerance::from(*choice));
        assert_eq!(sent.as_str(), typed(choice).as_deref());
    }
}

/// The policies of `sateen submit fib` with these words.
fn policies(words: &[&str]) -> Result<Policies, String> {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        submit: Submit,
    }
    let line = <Line as clap::Parser>::try_parse_from([&["submit", "fib"], words].concat());
    line.map(|line| line.submit.policies).map_err(|error| error.to_string())
}

#[test]
fn a_policy_of_trust_is_named_and_only_when_a_run_is_submitted() {
    let parse = |words: &[&str]| policies(words).map(|policies| policies.trust);
    assert_eq!(parse(&[]), Ok(Trust::Trust));
    assert_eq!(parse(&["--trust", "trust"]), Ok(Trust::Trust));
    assert_eq!(parse(&["--trust", "quorum=3"]), Ok(Trust::Quorum(3)));
    assert_eq!(parse(&["--trust", "audit"]), Ok(Trust::AUDIT_DEFAULT));
    assert_eq!(parse(&["--trust", "audit=0.25"]), Ok(Trust::Audit(250_000)));
    for wrong in ["audit=0", "audit=1.5", "quorum", "quorum=1", "quorum=6", "Trust", ""] {
        let error = parse(&["--trust", wrong]).expect_err(wrong);
        assert!(wrong.is_empty() || error.contains("`quorum=N` with N from 2 to 5"), "{error}");
    }
    let others = Replay::augment_args(clap::Command::new("replay"));
    assert!(others.get_arguments().all(|flag| flag.get_id() != "trust"));
}

#[test]
fn a_priority_is_a_word_and_only_for_runs_of_a_grid() {
    let parse = |words: &[&str]| policies(words).map(|policies| policies.priority);
    assert_eq!(parse(&[]), Ok(Priority::Normal));
    for priority in Priority::ALL {
        assert_eq!(parse(&["--priority", priority.word()]), Ok(priority));
    }
    for wrong in ["High", "1", "urgent"] {
        let error = parse(&["--priority", wrong]).expect_err(wrong);
        assert!(error.contains("expected one of low, normal, high"), "{error}");
    }
}

#[test]
fn results_of_earlier_runs_are_used_only_if_hosts_are_believed() {
    let check = |words: &[&str]| policies(words).and_then(|policies| policies.check());
    for good in [&["--reuse"] as &[&str], &["--reuse", "--trust", "trust"], &["--trust", "audit"], &[]] {
        assert_eq!(check(good), Ok(()), "{good:?}");
    }
    for policy in ["audit=0.25", "quorum=2"] {
        let error = check(&["--reuse", "--trust", policy]).expect_err(policy);
        assert!(error.starts_with(&format!("--reuse cannot be used with --trust {policy}: ")), "{error}");
    }
    let others = Replay::augment_args(clap::Command::new("replay"));
    assert!(others.get_arguments().all(|flag| flag.get_id() != "reuse"));
}

#[test]
fn keys_are_digits() {
    assert_eq!(parse_key("0123ABCD").as_deref(), Ok("0123abcd"));
    for wrong in ["0123abc", "0123abcx", &"0".repeat(65), "-1234567"] {
        assert!(parse_key(wrong).is_err(), "{wrong}");
    }
}

/// Its help had the hosts' defaults, but a replay has the limits of the job's run.
#[test]
fn a_replay_has_the_limits_of_its_run() {
    let help = |command: clap::Command| {
        let limits = ["memory", "stack", "max_output", "max_shared", "guard_limit"];
        let helps = command.get_arguments().filter(|flag| limits.contains(&flag.get_id().as_str()));
        helps.map(|flag| flag.get_help().expect("it has one").to_string()).collect::<Vec<_>>()
    };
    let replay = help(Replay::augment_args(clap::Command::new("replay")));
    let submit = help(Submit::augment_args(clap::Command::new("submit")));
    assert_eq!((replay.len(), submit.len()), (5, 5));
    for (replay, submit) in replay.iter().zip(&submit) {
        let (_, of_run) = replay.split_once("[default: that of the run, else ").expect("a default");
        let (_, of_hosts) = submit.split_once("[hosts' default: ").expect("a default");
        assert!(of_run == of_hosts && !replay.contains("host"), "{replay} {submit}");
    }
}

#[test]
fn runs_are_numbers() {
    assert_eq!(parse_run("17"), Ok(17));
    assert!(parse_run("last").is_err() && parse_run("-1").is_err() && parse_run("0").is_err());
}

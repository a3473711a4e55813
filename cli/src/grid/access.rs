//! `sateen token` and `sateen audit`.

use sateen_access::Scope;
use sateen_api::{AccessToken, AuditLine, NewToken, TokenRequest};
use sateen_command_line::local_with_zone;
use sateen_protocol::Share;
use serde_json::{Value, json};

use super::client::{Client, segment};
use super::columns::{Columns, known};
use crate::exit::{Failure, say};
use crate::files::{print, print_json};
use crate::flags::{self, Audit, List, Revoke, TokenCommand};

/// Maximum lines of the audit log in one answer.
const LINES_PER_PAGE: usize = 1000;

pub fn token(command: &TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::New(flags) => new(flags),
        TokenCommand::Ls(flags) => list(flags),
        TokenCommand::Revoke(flags) => revoke(flags),
    }
}

fn new(flags: &flags::NewToken) -> Result<(), Failure> {
    check(flags)?;
    let client = Client::new(&flags.grid)?;
    let request = TokenRequest {
        scope: flags.scope.word().to_owned(),
        name: flags.name.clone(),
        valid_s: flags.expires.map(|time| time.as_secs().max(1)),
        uses: flags.uses,
        weight: flags.weight,
        runs_max: flags.runs_max,
    };
    let answer = client.post("/api/v1/tokens", &json!(request))?;
    if flags.json {
        return print_json(&answer);
    }
    let made: NewToken = client.read(&answer)?;
    print(format!("{}\n", made.secret).as_bytes())?;
    let until = made.token.expires_at.map_or_else(
        || "never expires".to_owned(),
        |at| format!("expires {} by the coordinator's clock", local_with_zone(&at)),
    );
    let uses = match made.token.uses_max {
        None => String::new(),
        Some(1) => "; one host may join with it".to_owned(),
        Some(uses) => format!("; {uses} hosts may join with it"),
    };
    let weight = made.token.weight.map_or_else(String::new, |weight| format!("; its weight is {weight}"));
    let quota = match made.token.runs_max {
        None => String::new(),
        Some(1) => "; it may have one run that is not over".to_owned(),
        Some(runs) => format!("; it may have {runs} runs that are not over"),
    };
    say(format!(
        "token {} `{}` has the scope {} and {until}{uses}{weight}{quota}; its secret cannot be shown again",
        made.token.id, made.token.name, made.token.scope
    ));
    Ok(())
}

/// What depends on the scope.
fn check(flags: &flags::NewToken) -> Result<(), Failure> {
    for (flag, is_given) in [("--weight", flags.weight.is_some()), ("--runs-max", flags.runs_max.is_some())] {
        if is_given && !flags.scope.submits() {
            let why =
                format!("{flag} is only for tokens with the scope submitter or admin, not {}", flags.scope);
            return Err(Failure::usage(why));
        }
    }
    Ok(())
}

fn list(flags: &List) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let answer = client.get("/api/v1/tokens")?;
    if flags.json {
        return print_json(&answer);
    }
    let tokens: Vec<AccessToken> = client.read(&answer)?;
    let mut columns = Columns::new(&[
        "ID",
        "NAME",
        "SCOPE",
        "STATE",
        "EXPIRES",
        "LAST USED",
        "USES",
        "WEIGHT",
        "RUNS AT MOST",
        "MADE BY",
    ]);
    let moment =
        |at: &Option<String>| at.as_ref().map_or_else(|| "never".to_owned(), |at| local_with_zone(at));
    for token in &tokens {
        columns.row([
            token.id.to_string(),
            token.name.clone(),
            token.scope.clone(),
            token.state.clone(),
            moment(&token.expires_at),
            moment(&token.used_at),
            token.uses_max.map_or_else(|| "-".to_owned(), |max| format!("{} of {max}", token.uses)),
            known(token.weight.or_else(|| usual_weight(&token.scope)), |weight| weight.to_string()),
            known(token.runs_max, |runs| runs.to_string()),
            token.made_by.clone(),
        ]);
    }
    print(columns.text().as_bytes())
}

/// The weight of a token of this scope to which nobody gave another.
fn usual_weight(scope: &str) -> Option<u16> {
    Scope::parse(scope).filter(|scope| scope.submits()).map(|_| Share::WEIGHT)
}

/// Revokes all that it can. Fails with the error of the first that it cannot revoke.
fn revoke(flags: &Revoke) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    client.delete_all(
        &flags.tokens,
        |token| format!("/api/v1/tokens/{}", segment(token)),
        |token| format!("the token `{token}` is revoked"),
    )
}

/// The newest lines, the oldest of them first, as in a log.
pub fn audit(flags: &Audit) -> Result<(), Failure> {
    let client = Client::new(&flags.list.grid)?;
    let mut values: Vec<Value> = Vec::new();
    while values.len() < flags.limit {
        let limit = LINES_PER_PAGE.min(flags.limit - values.len()).to_string();
        let before = values.last().and_then(|line| line["number"].as_u64()).map(|number| number.to_string());
        let mut query = vec![("limit", limit.as_str())];
        query.extend(before.as_deref().map(|before| ("before", before)));
        let (page, _) = client.get_page("/api/v1/audit", &query)?;
        let Value::Array(page) = page else { break };
        if page.is_empty() {
            break;
        }
        values.extend(page);
    }
    values.reverse();
    if flags.list.json {
        return print_json(&Value::from_iter(values));
    }
    let lines = values.iter().map(|line| client.read(line)).collect::<Result<Vec<AuditLine>, Failure>>()?;
    let mut columns = Columns::new(&["WHEN", "WHO", "FROM", "STATUS", "WHAT", "WHY REFUSED"]);
    for line in lines {
        columns.row([
            local_with_zone(&line.at),
            if line.who.is_empty() { "-".to_owned() } else { line.who },
            line.address,
            line.status.to_string(),
            line.what,
            line.why.unwrap_or_default(),
        ]);
    }
    print(columns.text().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_for_submitting_have_a_weight_and_a_quota() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            new: flags::NewToken,
        }
        let checked = |words: &[&str]| {
            let words = [&["new", "--scope"], words].concat();
            let line = <Line as clap::Parser>::try_parse_from(words).map_err(|error| error.to_string())?;
            check(&line.new).map_err(|failure| failure.message)
        };
        for scope in ["submitter", "admin"] {
            assert_eq!(checked(&[scope, "--weight", "1000", "--runs-max", "1000000"]), Ok(()));
        }
        for (words, part) in [
            (
                &["viewer", "--weight", "2"][..],
                "--weight is only for tokens with the scope submitter or admin, not viewer",
            ),
            (&["volunteer", "--runs-max", "2"], "--runs-max is only for tokens"),
            (&["submitter", "--weight", "0"], "expected a number from 1 to 1000"),
            (&["submitter", "--weight", "1001"], "expected a number from 1 to 1000"),
            (&["submitter", "--runs-max", "0"], "expected a number from 1 to 1000000"),
        ] {
            assert!(checked(words).is_err_and(|why| why.contains(part)), "{words:?}: {:?}", checked(words));
        }
    }
}

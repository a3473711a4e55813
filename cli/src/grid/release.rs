//! Coordinators of another release than this command's.

use std::cmp::Ordering;
use std::time::Duration;

use semver::Version;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::StatusCode;

use super::client::Client;
use super::refusal::Refusal;
use super::view::read;
use crate::exit::{Failure, GRID};

/// This command's release.
const OWN: &str = env!("CARGO_PKG_VERSION");
/// Maximum time to ask for the coordinator's release. An error waits for it.
const ASKED_MAX: Duration = Duration::from_secs(5);
/// With this, coordinators begin the refusal of a submission that they cannot read, for example because they do not
/// know one of its fields.
const UNREADABLE: &str = "invalid submission";

impl Client {
    /// Converts the coordinator's answer to the expected type.
    ///
    /// # Errors
    /// If the answer has another form. The message says whether the coordinator or this command must be updated.
    pub fn read<T: DeserializeOwned>(&self, answer: &Value) -> Result<T, Failure> {
        read(answer)
            .map_err(|why| self.other_release(&format!("the coordinator's answer is invalid ({why})")))
    }

    /// The failure that follows from `what`, which a coordinator of another release can cause.
    pub fn other_release(&self, what: &str) -> Failure {
        let message = format!("{what}; {}", comparison(self.release().as_ref(), &own()));
        Failure::new(GRID, message)
    }

    /// Adds to the refusal of a submission that the coordinator cannot read which of the two must be updated.
    pub fn with_releases(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Answered(StatusCode::BAD_REQUEST, why) if why.starts_with(UNREADABLE) => {
                let compared = comparison(self.release().as_ref(), &own());
                Refusal::Answered(StatusCode::BAD_REQUEST, format!("{why}; {compared}"))
            }
            other => other,
        }
    }

    /// The coordinator's release. None if it does not name one.
    fn release(&self) -> Option<Version> {
        let answer = self.get_once("/version", ASKED_MAX).ok()?;
        Version::parse(answer["version"].as_str()?).ok()
    }
}

fn own() -> Version {
    // Cargo accepts no other versions.
    Version::parse(OWN).expect("a package's version")
}

/// Which of the two releases is older, and what to do.
fn comparison(coordinator: Option<&Version>, command: &Version) -> String {
    let Some(coordinator) = coordinator else {
        return format!("the coordinator does not name its release, and this command is release {command}");
    };
    let older = match coordinator.cmp_precedence(command) {
        Ordering::Less => "the coordinator",
        Ordering::Greater => "the command",
        Ordering::Equal => {
            return format!("both the coordinator and this command are release {command}; report this error");
        }
    };
    format!("the coordinator is release {coordinator} and this command is release {command}; update {older}")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// A coordinator that answers every request with `body`.
    fn coordinator(body: String) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has one");
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let lines = BufReader::new(&stream).lines();
                lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{body}"
                );
            }
        });
        Client::with(&format!("http://{address}"), &sateen_access::Credentials::default())
            .expect("an address")
    }

    fn of_release(version: &str) -> Client {
        coordinator(serde_json::json!({"name": "sateen-coordinator", "version": version}).to_string())
    }

    #[test]
    fn the_older_side_is_asked_to_update() {
        let version = |text| Version::parse(text).expect("a version");
        for (coordinator, command, older) in [
            ("0.9.0", "0.10.0", "the coordinator"),
            ("0.10.0", "0.9.0", "the command"),
            ("1.0.0-rc.1", "1.0.0", "the coordinator"),
            ("2.0.0", "1.99.99", "the command"),
        ] {
            let expected = format!(
                "the coordinator is release {coordinator} and this command is release {command}; update {older}"
            );
            assert_eq!(comparison(Some(&version(coordinator)), &version(command)), expected);
        }
        let equal = comparison(Some(&version("1.0.0")), &version("1.0.0"));
        assert_eq!(equal, "both the coordinator and this command are release 1.0.0; report this error");
    }

    #[test]
    fn an_answer_of_another_form_compares_the_releases() {
        for (release, older) in [("0.0.1", "the coordinator"), ("999.0.0", "the command")] {
            let client = of_release(release);
            let failure = client.read::<u32>(&serde_json::json!("x")).expect_err("it is not a number");
            let end = format!(
                "the coordinator is release {release} and this command is release {OWN}; update {older}"
            );
            assert!(
                failure.message.starts_with("the coordinator's answer is invalid ("),
                "{}",
                failure.message
            );
            assert!(failure.message.ends_with(&end), "{}", failure.message);
            assert_eq!(failure.code, GRID);
        }
        assert_eq!(of_release("0.0.1").read::<u32>(&serde_json::json!(7)).ok(), Some(7));
    }

    #[test]
    fn a_submission_that_cannot_be_read_compares_the_releases() {
        let client = of_release("0.0.1");
        let refused =
            |status, why: &str| match client.with_releases(Refusal::Answered(status, why.to_owned())) {
                Refusal::Answered(_, why) => why,
                other => panic!("{other:?}"),
            };
        let why = "invalid submission: unknown field `retries`";
        let compared = refused(StatusCode::BAD_REQUEST, why);
        assert!(compared.starts_with(why) && compared.ends_with("; update the coordinator"), "{compared}");
        // Any release would refuse these.
        for (status, why) in [
            (StatusCode::BAD_REQUEST, "invalid name of an input"),
            (StatusCode::NOT_FOUND, "there is no app `x`"),
        ] {
            assert_eq!(refused(status, why), why);
        }
    }

    #[test]
    fn a_coordinator_may_name_no_release() {
        for body in ["{}", "[]", r#"{"version": 7}"#, r#"{"version": "\u001b[31m"}"#, "<html>"] {
            let why = coordinator(body.to_owned()).other_release("why").message;
            let expected = "why; the coordinator does not name its release, and this command is release ";
            assert_eq!(why, format!("{expected}{OWN}"), "{body}");
        }
    }
}

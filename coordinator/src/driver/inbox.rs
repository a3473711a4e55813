//! The driver's inputs.

use sateen_protocol::coordinator::Earlier;
use sateen_protocol::{RunId, RunSpec};
use tokio::sync::{mpsc, oneshot};

use super::request::Request;
use crate::links::FromLink;
use crate::peer::Peer;
use crate::store::StoreError;
use crate::token::TokenId;

/// A run that was saved, or could not be.
#[derive(Debug)]
pub struct Submitted {
    pub result: Result<RunId, StoreError>,
    pub spec: RunSpec,
    pub earlier: Earlier,
    pub submitter: Peer,
    pub owner: Option<TokenId>,
    pub reply: oneshot::Sender<Result<RunId, StoreError>>,
}

/// The receiving ends. The driver waits for all of them at once.
#[derive(Debug)]
pub struct Inbox {
    /// From hosts' links.
    pub from_links: mpsc::UnboundedReceiver<FromLink>,
    /// From the API.
    pub requests: mpsc::Receiver<Request>,
    /// Submitted runs, once they are saved.
    pub submitted: mpsc::UnboundedReceiver<Submitted>,
    to_submitted: mpsc::UnboundedSender<Submitted>,
}

impl Inbox {
    /// The sending ends for links and the API.
    pub fn new(from_links: mpsc::UnboundedReceiver<FromLink>, requests: mpsc::Receiver<Request>) -> Self {
        let (to_submitted, submitted) = mpsc::unbounded_channel();
        Self { from_links, requests, submitted, to_submitted }
    }

    /// Where the outcome of a submission goes.
    pub fn to_submitted(&self) -> mpsc::UnboundedSender<Submitted> {
        self.to_submitted.clone()
    }

    /// Answers requests whose runs are still being saved. These runs do not begin any more.
    pub async fn answer_submitted(self) {
        let Self { to_submitted, mut submitted, .. } = self;
        drop(to_submitted);
        while let Some(Submitted { result, reply, .. }) = submitted.recv().await {
            let _ = reply.send(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::measure::spec;

    #[tokio::test]
    async fn at_the_end_all_whose_runs_are_being_saved_are_answered() {
        let (_to_driver, from_links) = mpsc::unbounded_channel();
        let (_handle, requests) = mpsc::channel(1);
        let inbox = Inbox::new(from_links, requests);
        let answers: Vec<_> = (1..4)
            .map(|run| {
                let (reply, answer) = oneshot::channel();
                let store = inbox.to_submitted();
                tokio::spawn(async move {
                    tokio::task::yield_now().await;
                    let submitter = Peer::of([127, 0, 0, 1].into());
                    let result = Ok(RunId(run));
                    let submitted = Submitted {
                        result,
                        spec: spec(),
                        earlier: Earlier::default(),
                        submitter,
                        owner: None,
                        reply,
                    };
                    store.send(submitted).expect("the inbox is there");
                });
                answer
            })
            .collect();
        inbox.answer_submitted().await;
        for (run, answer) in (1..).zip(answers) {
            assert_eq!(answer.await.expect("an answer").expect("it is saved"), RunId(run));
        }
    }
}

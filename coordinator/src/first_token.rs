//! A coordinator's first token, which is made in its data folder: all others need an admin's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sateen_access::{Scope, Token};

use crate::Error;
use crate::access::{New, Tokens, check_name};
use crate::clock::unix_ms;
use crate::limits::{BLOBS_BYTES_MAX, KEPT_BYTES_MAX, RESULTS_BYTES_MAX};
use crate::store::{Opening, Store, StoreError};

/// Makes a token in the data folder of a coordinator that does not run; returns its name and its secret. Blocks.
///
/// # Errors
/// When the folder is in use or cannot be written, or another token has that name.
pub fn make_token(
    data_dir: &Path,
    scope: Scope,
    name: Option<String>,
    valid_for: Option<Duration>,
) -> Result<(String, Token), Error> {
    let opening = Opening {
        blobs_bytes_max: BLOBS_BYTES_MAX,
        results_bytes_max: RESULTS_BYTES_MAX,
        kept_bytes_max: KEPT_BYTES_MAX,
        new_grid: false,
    };
    let (store, _) = Store::open(data_dir, opening).map_err(|error| match error {
        StoreError::InUse(folder) => Error::Token(format!(
            "a coordinator runs on the data folder {}; make the token there with `sateen token new`, which needs an admin's \
             token, or stop the coordinator first",
            folder.display()
        )),
        error => error.into(),
    })?;
    if let Some(name) = &name {
        check_name(name).map_err(Error::Token)?;
    }
    let expires_at_ms = valid_for.map(|time| unix_ms().saturating_add(time.as_millis() as u64));
    let new = New {
        name,
        scope,
        expires_at_ms,
        uses_max: None,
        weight: None,
        runs_max: None,
        made_by: "the coordinator's data folder".to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Arc::new(store);
        let tokens = Tokens::load(Arc::clone(&store)).await?;
        let made = tokens.make(new).await.map_err(|error| Error::Token(error.to_string()))?;
        store.checkpoint().await?;
        Ok((made.held.name().to_owned(), made.secret))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_whose_first_token_was_made_waits_for_no_host_to_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        make_token(folder.path(), Scope::Admin, None, None).expect("it is made");
        let opening = Opening {
            blobs_bytes_max: 1 << 20,
            results_bytes_max: 1 << 20,
            kept_bytes_max: 1 << 20,
            new_grid: false,
        };
        let (_store, restored) = Store::open(folder.path(), opening).expect("it opens");
        assert!(!restored.restarted && restored.has_admin);
    }
}

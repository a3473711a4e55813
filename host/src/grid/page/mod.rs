//! The host's own page for users of this machine: what the host does and may use, with buttons to pause, resume
//! and leave.
//!
//! It is served only on a loopback address, by a thread of its own, so that no steal waits for it. A web page
//! from elsewhere can make a browser send requests here. Such requests have another `Origin`, or, if a domain
//! name was made to point here (DNS rebinding), another `Host`. Requests that change anything also need the
//! page's token.

mod check;
mod routes;

use std::io;
use std::net::{SocketAddr, TcpListener};

use sateen_command_line::explained;
use thiserror::Error;
use tokio::sync::oneshot;

use super::control::Incoming;

/// The address of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageListen {
    /// The host serves no page.
    Off,
    /// On a loopback address; port 0 is any free one.
    At(SocketAddr),
}

impl Default for PageListen {
    fn default() -> Self {
        Self::At(SocketAddr::from(([127, 0, 0, 1], 0)))
    }
}

/// Why the page cannot be served.
#[derive(Debug, Error)]
#[error(
    "the page cannot be served at {address}: {}; name another address with --page, or say --page off", explained(.why)
)]
pub struct PageError {
    address: SocketAddr,
    why: io::Error,
}

impl PageListen {
    /// Binds the address. `None` if there should be no page, or if any port is allowed and this system has no
    /// loopback interface.
    ///
    /// # Errors
    /// If the address is taken, or others could reach it.
    pub fn bind(self) -> Result<Option<TcpListener>, PageError> {
        let Self::At(address) = self else { return Ok(None) };
        let bound = if address.ip().is_loopback() {
            TcpListener::bind(address)
        } else {
            Err(io::Error::other("other machines can reach that address"))
        };
        match bound {
            Ok(listener) => Ok(Some(listener)),
            Err(error) if address.port() == 0 && error.kind() == io::ErrorKind::AddrNotAvailable => {
                tracing::warn!(%address, error = explained(&error), "the host's page cannot be served");
                Ok(None)
            }
            Err(why) => Err(PageError { address, why }),
        }
    }
}

/// A page, served until this is dropped.
pub struct Page {
    /// Its address, for browsers.
    pub url: String,
    _stop: oneshot::Sender<()>,
}

impl Page {
    /// Serves the page.
    ///
    /// # Errors
    /// If a thread cannot be started, or the system provides no randomness or socket.
    pub fn serve(
        listener: TcpListener,
        requests: impl Fn(Incoming) + Clone + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let mut token = [0; 16];
        getrandom::fill(&mut token).map_err(io::Error::other)?;
        let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
        let router = routes::router(requests, token, address.port());
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = move || {
            let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            tokio.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let served = axum::serve(listener, router);
                tokio::select! {
                    served = served.into_future() => served,
                    // The sender was dropped without a value.
                    _ = stopped => Ok(()),
                }
            })
        };
        std::thread::Builder::new().name("sateen-page".to_owned()).spawn(move || {
            if let Err(error) = serve() {
                tracing::warn!(error = explained(&error), "the host's page is no longer served");
            }
        })?;
        Ok(Self { url: format!("http://{address}/"), _stop: stop })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_served() {
        let at = |text: &str| PageListen::At(text.parse().expect("an address")).bind();
        assert!(at("0.0.0.0:0").expect_err("others could reach it").to_string().contains("--page"));
        let first = at("127.0.0.1:0").expect("free").expect("bound");
        let taken = first.local_addr().expect("it has one").to_string();
        let error = at(&taken).expect_err("taken").to_string();
        assert!(error.contains(&taken) && error.contains("--page"), "{error}");
        assert!(PageListen::Off.bind().expect("nothing to bind").is_none());
    }
}

//! The end of the service.

use tokio::sync::watch;

/// Waits until the service is to stop, or nobody is left to say so.
pub async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|stop| *stop).await;
}

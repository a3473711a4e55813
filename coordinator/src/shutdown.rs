//! Stopping the service.

use tokio::sync::watch;

/// Waits until the service is to stop, or nothing is left that could stop it.
pub async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|stop| *stop).await;
}

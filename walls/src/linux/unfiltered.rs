//! Processors whose system calls are not listed here.

use super::Missing;

pub fn install() -> Result<(), Missing> {
    Err(format!("the list of system calls is not written for the processor {}", std::env::consts::ARCH))
}

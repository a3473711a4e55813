//! Bytes offered to a guest.

use std::sync::Arc;

use sateen_protocol::Bytes;
use wasmtime::Caller;

use super::Guest;
use super::memory::{room, write};

/// Bytes that wait for the guest to take them.
pub enum Offered {
    Owned(Bytes),
    Shared(Arc<[u8]>),
    /// Pieces, each preceded by its length in four bytes.
    Pieces(Vec<Bytes>),
}

impl Offered {
    pub fn nothing() -> Self {
        Self::Owned(Bytes::default())
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Owned(bytes) => bytes.len(),
            Self::Shared(bytes) => bytes.len(),
            Self::Pieces(pieces) => pieces.iter().map(|piece| 4 + piece.len()).sum(),
        }
    }

    /// Writes all bytes to the guest's memory.
    pub fn write(&self, caller: &mut Caller<'_, Guest>, address: u32) -> wasmtime::Result<()> {
        match self {
            Self::Owned(bytes) => write(caller, address, bytes),
            Self::Shared(bytes) => write(caller, address, bytes),
            Self::Pieces(pieces) => {
                let mut room = room(caller, address, self.len())?;
                for piece in pieces {
                    let (length, rest) = room.split_at_mut(4);
                    length.copy_from_slice(&(piece.len() as u32).to_le_bytes());
                    let (place, rest) = rest.split_at_mut(piece.len());
                    place.copy_from_slice(piece);
                    room = rest;
                }
                Ok(())
            }
        }
    }
}

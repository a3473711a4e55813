//! Buffers for encoded values.

use postcard::ser_flavors::Flavor;

/// Bytes that are written one after another.
#[derive(Default)]
pub struct Buffer {
    pub bytes: Vec<u8>,
    /// Whether maps of unknown types are written in their own order.
    pub keeps_order: bool,
    /// Whether the entries of a map of an unknown type were sorted.
    pub has_ordered: bool,
    /// Writing fails when the bytes are full.
    pub is_bounded: bool,
}

impl Buffer {
    /// Room for values that may follow bytes written all at once. Without it, a megabyte would move into two for the
    /// few bytes after it.
    pub const ROOM: usize = 256;

    /// A buffer that takes `bytes` bytes; writing the next one fails.
    pub fn bounded(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), is_bounded: true, ..Self::default() }
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> postcard::Result<()> {
        if self.is_bounded {
            return Err(postcard::Error::SerializeBufferFull);
        }
        self.bytes.reserve(bytes + Self::ROOM);
        Ok(())
    }
}

/// Postcard writes into a buffer that it does not own.
impl Flavor for &mut Buffer {
    type Output = ();

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        if self.bytes.capacity() - self.bytes.len() < data.len() {
            self.grow(data.len())?;
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        if self.bytes.capacity() == self.bytes.len() {
            self.grow(1)?;
        }
        self.bytes.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

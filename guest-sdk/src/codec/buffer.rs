//! Where encoded values are written.

use postcard::ser_flavors::Flavor;

/// Bytes that are written one after another.
#[derive(Default)]
pub struct Buffer(pub Vec<u8>);

impl Buffer {
    /// Room for what may follow bytes that are written all at once. Without it a megabyte would move to where there are
    /// two, for the few bytes after it.
    pub const ROOM: usize = 256;
}

/// Postcard writes into a buffer that it does not own.
impl Flavor for &mut Buffer {
    type Output = ();

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        if self.0.capacity() - self.0.len() < data.len() {
            self.0.reserve(data.len() + Buffer::ROOM);
        }
        self.0.extend_from_slice(data);
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

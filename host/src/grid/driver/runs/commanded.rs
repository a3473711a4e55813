//! Which portions have commands that they have not begun with.

use sateen_protocol::RunId;

use super::Runs;

impl Runs {
    /// A run's portion has got a command.
    pub fn note_commanded(&mut self, run: RunId) {
        if self.commanded.last() != Some(&run) {
            self.commanded.push(run);
        }
    }

    /// Whether portions have got commands since they were last flushed.
    pub fn has_commanded(&self) -> bool {
        !self.commanded.is_empty()
    }

    /// Has the portions begin with the commands that they have got.
    pub fn flush(&mut self) {
        for run in std::mem::take(&mut self.commanded) {
            if let Some(portion) = self.all.get_mut(&run).and_then(|here| here.portion.as_mut()) {
                portion.flush();
            }
        }
    }
}

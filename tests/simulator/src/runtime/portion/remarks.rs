//! What is noticed in a portion: rare states, and rules that the machine broke.

/// Remarks about a portion.
#[derive(Debug, Default)]
pub struct Remarks {
    /// Rare states reached, until they are taken.
    rare: Vec<&'static str>,
    /// Rules that the machine broke.
    complaints: Vec<String>,
}

impl Remarks {
    /// A rare state was reached.
    pub fn hit(&mut self, name: &'static str) {
        self.rare.push(name);
    }

    /// The machine may have broken a rule.
    pub fn expect(&mut self, is: Result<(), String>) {
        self.complaints.extend(is.err());
    }

    /// The machine broke a rule.
    pub fn complain(&mut self, complaint: String) {
        self.complaints.push(complaint);
    }

    /// Rare states reached since they were last taken.
    pub fn take_rare(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.rare)
    }

    /// Rules that the machine broke.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }
}

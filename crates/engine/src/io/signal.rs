//! Wakes one idle task.

/// An eventcount between many wakers and one task.
#[derive(Debug, Default)]
pub struct Signal {}

impl Signal {
    /// A signal with nobody asleep.
    pub fn new() -> Signal {
        Signal::default()
    }
}

//! Files: segments of log streams, and the manifest that says what they add up to.

#[cfg(test)]
pub(crate) mod disk_for_tests;
pub mod manifest;
pub mod segment;

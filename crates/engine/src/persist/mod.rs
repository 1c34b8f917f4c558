//! Files: segments of log streams, and the manifest that says what they add up to.

pub(crate) mod baton;
pub(crate) mod device;
#[cfg(test)]
pub(crate) mod disk_for_tests;
pub(crate) mod logger;
pub mod manifest;
pub(crate) mod preparer;
pub mod segment;

//! On what and by what a figure was measured.

use std::fs;

use serde::Serialize;

/// The machine and the program.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// As the processor calls itself.
    pub cpu: String,
    /// What the process may use.
    pub cores: usize,
    /// Of the machine, in bytes.
    pub memory_bytes: u64,
    /// Release of the operating system.
    pub kernel: String,
    /// `debug` or `release`.
    pub build: &'static str,
}

impl Machine {
    /// This one. What the system does not tell is `unknown` or 0.
    pub fn detect() -> Machine {
        Machine {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            cores: cores(),
            memory_bytes: field("/proc/meminfo", "MemTotal").and_then(|text| kib(&text)).unwrap_or(0),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").map_or("unknown".into(), |s| s.trim().to_owned()),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }
}

/// The commit that the program was built from, with `-dirty` where files had been changed.
pub const GIT_COMMIT: &str = env!("OSIER_GIT_COMMIT");

/// Cores that the process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Resident memory of this process in bytes: now, and at most so far.
pub fn resident_bytes() -> (u64, u64) {
    let read = |name| field("/proc/self/status", name).and_then(|text| kib(&text)).unwrap_or(0);
    (read("VmRSS"), read("VmHWM"))
}

/// The text after `name:` in a file of such lines.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Bytes of a text like `123 kB`.
fn kib(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_has_memory() {
        let (now, most) = resident_bytes();
        assert!(now > 100 << 10 && most >= now, "{now} {most}");
        assert_eq!(kib("12 kB"), Some(12288));
        assert!(Machine::detect().cores >= 1);
    }
}

//! Quantities, as people read them.

/// A number with its noun: 1 segment, 2 batches.
pub(crate) fn count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    let ending = match noun {
        _ if number == 1 => "",
        noun if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{number} {noun}{ending}")
}

/// A number of bytes for people: 1.2 GB.
pub(crate) fn bytes(number: u64) -> String {
    let mut value = number as f64;
    for unit in ["bytes", "KB", "MB", "GB"] {
        if value < 999.5 {
            return if unit == "bytes" { format!("{number} bytes") } else { format!("{value:.1} {unit}") };
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

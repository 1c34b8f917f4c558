//! Functions about the server, the session and the catalog.
//!
//! Absent: functions that administer a server; what only the catalog knows is asked of [`Environment::ask`](super::Environment).

use super::argument::*;
use super::{Call, functions};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null, Timestamp};
use crate::error::Result;
use crate::types::Type;
use crate::value::interval::Fields;

/// A table of functions that the catalog answers.
macro_rules! asked {
    ($($name:literal ($($p:ident),*) -> $r:ident;)*) => {
        functions! {
            /// Functions that the catalog answers.
            ASKED: $($name ($($p),*) -> $r [volatile] = |call, a| call.environment.ask($name, a);)*
        }
    };
}

asked! {
    "nextval" (RegClass) -> Int8;
    "currval" (RegClass) -> Int8;
    "setval" (RegClass, Int8) -> Int8;
    "setval" (RegClass, Int8, Bool) -> Int8;
    "lastval" () -> Int8;
    "current_setting" (Text) -> Text;
    "current_setting" (Text, Bool) -> Text;
    "set_config" (Text, Text, Bool) -> Text;
    "pg_postmaster_start_time" () -> Timestamptz;
    "txid_current" () -> Int8;
    "pg_advisory_lock" (Int8) -> Void;
    "pg_advisory_lock" (Int4, Int4) -> Void;
    "pg_advisory_lock_shared" (Int8) -> Void;
    "pg_advisory_lock_shared" (Int4, Int4) -> Void;
    "pg_advisory_xact_lock" (Int8) -> Void;
    "pg_advisory_xact_lock" (Int4, Int4) -> Void;
    "pg_advisory_xact_lock_shared" (Int8) -> Void;
    "pg_advisory_xact_lock_shared" (Int4, Int4) -> Void;
    "pg_try_advisory_lock" (Int8) -> Bool;
    "pg_try_advisory_lock" (Int4, Int4) -> Bool;
    "pg_try_advisory_lock_shared" (Int8) -> Bool;
    "pg_try_advisory_lock_shared" (Int4, Int4) -> Bool;
    "pg_try_advisory_xact_lock" (Int8) -> Bool;
    "pg_try_advisory_xact_lock" (Int4, Int4) -> Bool;
    "pg_try_advisory_xact_lock_shared" (Int8) -> Bool;
    "pg_try_advisory_xact_lock_shared" (Int4, Int4) -> Bool;
    "pg_advisory_unlock" (Int8) -> Bool;
    "pg_advisory_unlock" (Int4, Int4) -> Bool;
    "pg_advisory_unlock_shared" (Int8) -> Bool;
    "pg_advisory_unlock_shared" (Int4, Int4) -> Bool;
    "pg_advisory_unlock_all" () -> Void;
    "pg_sleep" (Float8) -> Void;
    "pg_sleep_for" (Interval) -> Void;
    "pg_sleep_until" (Timestamptz) -> Void;
    "pg_notification_queue_usage" () -> Float8;
    "pg_cancel_backend" (Int4) -> Bool;
    "pg_terminate_backend" (Int4) -> Bool;
    "pg_terminate_backend" (Int4, Int8) -> Bool;
}

functions! {
    /// Functions about the server and the session.
    FUNCTIONS:
    "pg_notify" (Text, Text) -> Void [lax volatile] = |call, a| call.environment.ask("pg_notify", a);
    "version" () -> Text [stable] = |_, _| Ok(Datum::text(version()));
    "current_user" () -> Name [stable] = |call, _| Ok(Datum::text(call.environment.user()));
    "user" () -> Name [stable] = |call, _| Ok(Datum::text(call.environment.user()));
    "current_role" () -> Name [stable] = |call, _| Ok(Datum::text(call.environment.user()));
    "session_user" () -> Name [stable] = |call, _| Ok(Datum::text(call.environment.session_user()));
    "current_database" () -> Name [stable] = |call, _| Ok(Datum::text(call.environment.database()));
    "current_catalog" () -> Name [stable] = |call, _| Ok(Datum::text(call.environment.database()));
    "current_schema" () -> Name [stable] = |call, _| Ok(call.environment.schema().map_or(Null, Datum::text));
    "pg_backend_pid" () -> Int4 [stable] = |call, _| Ok(Int(call.environment.backend_pid().into()));
    "pg_typeof" (Any) -> RegType [lax stable] = |call, _| Ok(Int(call.types[0].oid().into()));
    "format_type" (Oid, Int4) -> Text [lax stable] = |call, a| match &a[0] {
        Null => Ok(Null),
        oid => format_type(call, oid, if a[1].is_null() { -1 } else { int(&a[1]) }),
    };
    "gen_random_uuid" () -> Uuid [volatile] = |call, _| {
        let mut bytes = call.environment.random_uuid()?;
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Ok(Datum::Uuid(bytes))
    };
    "pg_encoding_to_char" (Int4) -> Name [stable] = |_, a| Ok(Datum::text(match int(&a[0]) {
        0 => "SQL_ASCII",
        6 => "UTF8",
        _ => "",
    }));
    "pg_char_to_encoding" (Name) -> Int4 [stable] = |_, a| Ok(Int(encoding(text(&a[0]))));
    "pg_client_encoding" () -> Name [stable] = |_, _| Ok(Datum::text("UTF8"));
    "getdatabaseencoding" () -> Name [stable] = |_, _| Ok(Datum::text("UTF8"));
    "pg_is_in_recovery" () -> Bool [volatile] = |_, _| Ok(Bool(false));
    "pg_tablespace_location" (Oid) -> Text [stable] = |_, _| Ok(Datum::text(""));
    "pg_conf_load_time" () -> Timestamptz [stable] = |call, _| Ok(Timestamp(call.environment.transaction_start_us()));
    "inet_server_addr" () -> Inet [stable] = |_, _| Ok(Null);
    "inet_server_port" () -> Int4 [stable] = |_, _| Ok(Null);
    "inet_client_addr" () -> Inet [stable] = |_, _| Ok(Null);
    "inet_client_port" () -> Int4 [stable] = |_, _| Ok(Null);
    "pg_size_pretty" (Int8) -> Text = |_, a| Ok(Datum::text(size_pretty(int(&a[0]).into())));
    "pg_size_pretty" (Numeric) -> Text = |_, a| Ok(Datum::text(numeric_size_pretty(&numeric(&a[0]).to_string())));
}

/// The number of an encoding, of those that there are; -1 of all others. Only letters and digits of the name count.
fn encoding(name: &str) -> i64 {
    let letters = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    match letters.collect::<String>().as_str() {
        "sqlascii" => 0,
        "utf8" | "unicode" => 6,
        _ => -1,
    }
}

/// Whether a function is about advisory locks: it may wait for other sessions.
pub(crate) fn is_advisory(name: &str) -> bool {
    name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_")
}

/// Returns what clients read to know which server they talk to.
fn version() -> String {
    format!("PostgreSQL 15.8 (Osier {}) on {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}

/// Shows a type with what its declaration adds.
fn format_type(call: &Call<'_>, oid: &Datum, modifier: i64) -> Result<Datum> {
    let number = int(oid);
    let Some(ty) = u32::try_from(number).ok().and_then(Type::of_oid) else {
        return if number == 0 {
            Ok(Datum::text("-"))
        } else {
            call.environment.ask("format_type", std::slice::from_ref(oid))
        };
    };
    let (element, suffix) = match ty {
        Type::Array(element) => (*element, "[]"),
        scalar => (scalar, ""),
    };
    let declared = match (element, modifier) {
        (_, ..0) => element.to_string(),
        (Type::Varchar | Type::Char, 4..) => format!("{element}({})", modifier - 4),
        (Type::Numeric, 4..) => {
            let (precision, scale) = ((modifier - 4) >> 16 & 0xffff, ((modifier - 4) & 0x7ff ^ 1_024) - 1_024);
            format!("numeric({precision},{scale})")
        }
        (Type::Time | Type::Timestamp, _) => format!("{}({modifier}) without time zone", element.catalog_name()),
        (Type::Timestamptz, _) => format!("timestamp({modifier}) with time zone"),
        (Type::Interval, _) => match (Fields::of_bits((modifier >> 16) as i32), modifier & 0xffff) {
            (Some(fields), 0xffff) => format!("{element} {fields}"),
            (Some(fields), digits) => format!("{element} {fields}({digits})"),
            (None, digits) => format!("{element}({digits})"),
        },
        _ => element.to_string(),
    };
    Ok(Datum::text(format!("{declared}{suffix}")))
}

/// As [`size_pretty`], of a number with digits behind the point, which small sizes keep.
fn numeric_size_pretty(size: &str) -> String {
    let whole = size.split('.').next().unwrap_or_default().parse::<i128>();
    let shown = whole.map(size_pretty).unwrap_or_default();
    match shown.strip_suffix(" bytes") {
        None if !shown.is_empty() => shown,
        _ => format!("{size} bytes"),
    }
}

/// Shows a size in the unit that keeps it below 10240.
fn size_pretty(size: i128) -> String {
    const LIMIT: i128 = 10 * 1_024;
    if size.checked_abs().is_some_and(|size| size < LIMIT) {
        return format!("{size} bytes");
    }
    // Half units decide how the last step is rounded, as PostgreSQL does it.
    let units = ["kB", "MB", "GB", "TB", "PB"];
    let mut halves = size >> 9;
    for (place, unit) in units.iter().enumerate() {
        let rounded = (halves + if halves < 0 { -1 } else { 1 }) / 2;
        if halves.abs() < LIMIT * 2 - 1 || place + 1 == units.len() {
            return format!("{rounded} {unit}");
        }
        halves >>= 10;
    }
    format!("{size} bytes")
}

//! `pg_database`, `pg_tablespace`, `pg_settings`, `pg_stat_activity`, `pg_locks`, `pg_timezone_names`.

use std::sync::Arc;

use osier::advisory::{Mode, Space};

use super::snapshot::{Sort, derived_oid};
use super::{Catalog, DATABASE, FIRST_ROLE, class, oid, role, text};
use crate::backends::Backend;
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, Null};
use crate::error::Result;
use crate::function::{EXTENSIONS, Extension};
use crate::run::Row;
use crate::session::Status;
use crate::value::interval::Interval;

/// `pg_database`: there is one.
pub(super) fn databases() -> Vec<Row> {
    const UTF8: i64 = 6;
    vec![vec![
        oid(DATABASE),
        text(crate::session::DATABASE),
        oid(FIRST_ROLE),
        Int(UTF8),
        text("c"),
        Bool(false),
        Bool(true),
        Int(-1),
        Int(0),
        Int(0),
        Int(1663),
        text("C"),
        text("C"),
        Null,
        Null,
        Null,
    ]]
}

/// `pg_tablespace`: the one that everything is in, and that of what all databases share.
pub(super) fn tablespaces() -> Vec<Row> {
    let row = |(number, name): (i64, &str)| vec![Int(number), text(name), oid(FIRST_ROLE), Null, Null];
    [(1663, "pg_default"), (1664, "pg_global")].into_iter().map(row).collect()
}

/// `pg_settings`.
pub(super) fn settings(catalog: &Catalog<'_>) -> Vec<Row> {
    let initial = crate::settings::Settings::default();
    let row = |(name, value): (&'static str, String)| {
        let at_first = initial.show(name).unwrap_or_default();
        let is_fixed = crate::settings::is_fixed(name);
        let source = if value == at_first { "default" } else { "session" };
        let kind = match at_first.as_str() {
            "on" | "off" => "bool",
            value if value.parse::<i64>().is_ok() => "integer",
            _ => "string",
        };
        vec![
            text(name),
            text(value),
            Null,
            text("Osier"),
            text(name.replace('_', " ")),
            Null,
            text(if is_fixed { "internal" } else { "user" }),
            text(kind),
            text(source),
            Null,
            Null,
            Null,
            text(&at_first),
            text(at_first),
            Null,
            Null,
            Bool(false),
        ]
    };
    catalog.settings.all().map(row).collect()
}

/// `pg_stat_activity`: all sessions. What those of other roles do is shown to who has these roles.
pub(super) fn activity(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let objects = catalog.store.objects(catalog.sql)?;
    let at = |us: Option<i64>| us.map_or(Null, Datum::Timestamp);
    let row = |backend: Arc<Backend>| {
        let activity = backend.activity();
        let is_seen = catalog.settings.is_superuser() || objects.is_owner(catalog.user, &backend.user);
        let seen = |value: Datum| if is_seen { value } else { Null };
        let state = match activity.resting {
            None => "active",
            Some(Status::Idle) => "idle",
            Some(Status::Open) => "idle in transaction",
            Some(Status::Failed) => "idle in transaction (aborted)",
        };
        vec![
            oid(DATABASE),
            text(crate::session::DATABASE),
            Int(backend.pid.into()),
            Null,
            oid(role::number(&backend.user)),
            text(backend.user.clone()),
            text(activity.settings.show("application_name").unwrap_or_default()),
            Null,
            Null,
            Null,
            seen(at(Some(backend.started_us))),
            seen(at(activity.transaction_us)),
            seen(at(activity.statement_us)),
            seen(at(Some(activity.changed_us))),
            Null,
            Null,
            seen(text(state)),
            Null,
            Null,
            Null,
            if is_seen { text(activity.text()) } else { text("<insufficient privilege>") },
            text("client backend"),
        ]
    };
    Ok(catalog.sql.backends().list().into_iter().map(row).collect())
}

/// `pg_prepared_statements`: what the session has prepared under names. Plans are not counted.
pub(super) fn prepared(catalog: &Catalog<'_>) -> Vec<Row> {
    let row = |known: super::PreparedRow| {
        let types = known.parameters.iter().map(|ty| text(ty.to_string())).collect();
        vec![
            text(known.name),
            text(known.text),
            Datum::Timestamp(known.since_us),
            Datum::Array(types),
            Bool(known.is_of_sql),
            Int(0),
            Int(0),
        ]
    };
    catalog.prepared.listed().into_iter().map(row).collect()
}

/// `pg_locks`: the advisory locks of all sessions. What transactions lock beside them is not listed.
pub(super) fn locks(catalog: &Catalog<'_>) -> Vec<Row> {
    let row = |listed: osier::advisory::Listed| {
        let mode = match listed.mode {
            Mode::Shared => "ShareLock",
            Mode::Exclusive => "ExclusiveLock",
        };
        vec![
            text("advisory"),
            oid(DATABASE),
            Null,
            Null,
            Null,
            Null,
            Null,
            oid(listed.key.high),
            oid(listed.key.low),
            Int(if listed.key.space == Space::Pair { 2 } else { 1 }),
            text(format!("{}/0", listed.holder)),
            Int(listed.holder.into()),
            text(mode),
            Bool(listed.is_granted),
            Bool(false),
            Null,
        ]
    };
    catalog.advisory.list().into_iter().filter(|listed| listed.key.space != Space::Name).map(row).collect()
}

/// `pg_timezone_names`, as of the beginning of the statement.
pub(super) fn time_zones(catalog: &Catalog<'_>) -> Vec<Row> {
    let now = jiff::Timestamp::from_microsecond(catalog.statement_start_us).unwrap_or_default();
    let row = |name: jiff::tz::TimeZoneName| {
        let zone = jiff::tz::TimeZone::get(name.as_str()).ok()?;
        let info = zone.to_offset_info(now);
        let us = i64::from(info.offset().seconds()) * 1_000_000;
        let offset = Datum::Interval(Interval { us, ..Interval::default() });
        let is_summer = info.dst() == jiff::tz::Dst::Yes;
        Some(vec![text(name.as_str()), text(info.abbreviation()), offset, Bool(is_summer)])
    };
    jiff::tz::db().available().filter_map(row).collect()
}

/// The number of an extension.
pub(super) fn extension_number(name: &str) -> u32 {
    derived_oid(Sort::Extension, 0, name)
}

/// `pg_extension`: those that were created.
pub(super) fn extensions(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, entry) in &catalog.snapshot()?.beside.extensions {
        let version = EXTENSIONS.iter().find(|known| known.name == name).map_or("", |known| known.version);
        rows.push(vec![
            oid(extension_number(name)),
            text(name),
            oid(role::number(&entry.owner)),
            oid(class::schema_number(catalog, &entry.schema)?.unwrap_or(0)),
            Bool(true),
            text(version),
            Null,
            Null,
        ]);
    }
    Ok(rows)
}

/// `pg_available_extensions`.
pub(super) fn available_extensions(catalog: &Catalog<'_>) -> Result<Vec<Row>> {
    let created = &catalog.snapshot()?.beside.extensions;
    let row = |known: &Extension| {
        let installed = if created.contains_key(known.name) { text(known.version) } else { Null };
        vec![text(known.name), text(known.version), installed, text(known.comment)]
    };
    Ok(EXTENSIONS.iter().map(row).collect())
}

//! YCSB's transactions as calls of the procedures in `ycsb.osier` and `ycsb_stamped.osier`.

use osier::call::Output;
use osier::table::{Argument, Value};

use super::content::{Pool, key_value, stamp};
use super::{Access, Evidence, Request, YcsbConfig, YcsbFact};
use crate::calls::{Call, int};

/// The procedures for rows of this form.
pub fn procedures(config: &YcsbConfig) -> String {
    let text = if config.is_stamped {
        include_str!("../procedures/ycsb_stamped.osier")
    } else {
        include_str!("../procedures/ycsb.osier")
    };
    let each = |of: &dyn Fn(u32) -> String, between: &str| (0..config.fields).map(of).collect::<Vec<_>>().join(between);
    let bytes = config.field_bytes;
    text.replace("FIELD_NAMES", &each(&|field| format!("field{field}"), ", "))
        .replace("FIELD_VALUES", &each(&|field| format!("substr(content, {}, {bytes})", field * bytes + 1), ", "))
        .replace("FIELD_BYTES", &each(&|field| format!("old.field{field}"), " || "))
}

/// What is written, and the checksums of the rows that get it, in their order.
pub(super) struct Written<'a> {
    content: &'a [u8],
    checksums: [i64; super::ACCESSES_MAX],
}

impl<'a> Written<'a> {
    /// Takes it from the pool; stamped, it is put together in `content`.
    pub(super) fn of(
        config: &YcsbConfig,
        pool: &'a Pool,
        request: &Request,
        writer: u64,
        content: &'a mut Vec<u8>,
    ) -> Written<'a> {
        let (keys, payload) = match *request {
            Request::Overwrite { key, payload } | Request::UpdateAndScan { key, payload, .. } => ([key; 2], payload),
            Request::Accesses { accesses, payload, .. } => (accesses.map(|access| access.key), payload),
        };
        if !config.is_stamped {
            return Written { content: pool.payload(payload, config.row_bytes()), checksums: [0; 2] };
        }
        let checksums = keys.map(|key| stamp(content, config, pool, payload, key, writer));
        Written { content, checksums }
    }
}

/// A request as a call. `writer` is the version of what is written blindly.
pub(super) fn call<'a>(config: &YcsbConfig, request: &Request, written: &Written<'a>, writer: u64) -> Call<'a> {
    let key = |key: u64| Argument::from(key_value(key));
    let content = || Argument::from(Value::Bytes(written.content));
    let [first_checksum, second_checksum] = written.checksums.map(Argument::from);
    let (procedure, mut arguments, mut stamps) = match *request {
        Request::Overwrite { key: of, .. } => {
            ("overwrite", vec![key(of), content()], vec![first_checksum, key(writer)])
        }
        Request::UpdateAndScan { key: of, from, length, .. } => {
            let length = i64::from(length).into();
            ("update_and_scan", vec![key(of), content(), key(from), length], vec![first_checksum])
        }
        Request::Accesses { accesses: [first, _], count: 1, .. } => {
            ("one_access", vec![key(first.key), first.is_write.into(), content()], vec![first_checksum])
        }
        Request::Accesses { accesses: [first, second], .. } => {
            let accesses =
                vec![key(first.key), first.is_write.into(), key(second.key), second.is_write.into(), content()];
            ("two_accesses", accesses, vec![first_checksum, second_checksum])
        }
    };
    if config.is_stamped {
        arguments.append(&mut stamps);
    }
    Call::new(procedure, arguments)
}

/// What the results prove: the versions of stamped rows.
pub(super) fn returned(config: &YcsbConfig, request: &Request, writer: u64, output: &Output) -> Option<Evidence> {
    let mut evidence = Evidence::default();
    if !config.is_stamped {
        return Some(evidence);
    }
    let version = |name| u64::try_from(int(output, name)?).ok();
    let fact = |Access { key, is_write }: Access, version| YcsbFact { key, version, is_write };
    let written = |key| Access { key, is_write: true };
    match *request {
        Request::Overwrite { key, .. } => evidence.add(fact(written(key), writer)),
        Request::UpdateAndScan { key, .. } => evidence.add(fact(written(key), version("version")?)),
        Request::Accesses { accesses: [first, _], count: 1, .. } => evidence.add(fact(first, version("version")?)),
        Request::Accesses { accesses: [first, second], .. } => {
            evidence.add(fact(first, version("first_version")?));
            evidence.add(fact(second, version("second_version")?));
        }
    }
    Some(evidence)
}

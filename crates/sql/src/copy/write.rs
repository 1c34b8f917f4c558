//! Records that a client is sent.

use super::{Format, Options, SIGNATURE};
use crate::datum::Datum;
use crate::settings::Settings;
use crate::types::Declared;
use crate::value;

/// Writes records.
pub(crate) struct Writer<'w> {
    options: &'w Options,
    columns: Vec<(String, Declared)>,
    settings: &'w Settings,
}

impl<'w> Writer<'w> {
    pub(crate) fn new(options: &'w Options, columns: Vec<(String, Declared)>, settings: &'w Settings) -> Writer<'w> {
        Writer { options, columns, settings }
    }

    /// What comes before the first record.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        match self.options.format {
            Format::Binary => {
                out.extend(SIGNATURE);
                out.extend([0; 8]);
            }
            Format::Text | Format::Csv if self.options.has_header => {
                for (at, (name, _)) in self.columns.iter().enumerate() {
                    self.separate(at, out);
                    self.field(name.as_bytes(), false, out);
                }
                out.push(b'\n');
            }
            Format::Text | Format::Csv => {}
        }
    }

    /// What comes behind the last record.
    pub(crate) fn end(&self, out: &mut Vec<u8>) {
        if self.options.format == Format::Binary {
            out.extend((-1_i16).to_be_bytes());
        }
    }

    /// A record.
    pub(crate) fn record(&self, row: &[Datum], out: &mut Vec<u8>) {
        if self.options.format == Format::Binary {
            self.tuple(row, out);
            return;
        }
        let mut text = Vec::new();
        for (at, (datum, (name, declared))) in row.iter().zip(&self.columns).enumerate() {
            self.separate(at, out);
            if datum.is_null() {
                out.extend(&self.options.null);
                continue;
            }
            text.clear();
            value::push_text(datum, *declared, self.settings, &mut text);
            let force = &self.options.force_quote;
            self.field(&text, force.iter().any(|forced| forced == name || forced == "*"), out);
        }
        out.push(b'\n');
    }

    fn tuple(&self, row: &[Datum], out: &mut Vec<u8>) {
        out.extend((row.len() as i16).to_be_bytes());
        for (datum, (_, declared)) in row.iter().zip(&self.columns) {
            if datum.is_null() {
                out.extend((-1_i32).to_be_bytes());
                continue;
            }
            let begin = out.len();
            out.extend([0; 4]);
            value::push_binary(datum, *declared, out);
            let length = (out.len() - begin - 4) as i32;
            out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    fn separate(&self, at: usize, out: &mut Vec<u8>) {
        if at > 0 {
            out.push(self.options.delimiter);
        }
    }

    fn field(&self, text: &[u8], is_forced: bool, out: &mut Vec<u8>) {
        let Options { format, delimiter, quote, escape, null, .. } = self.options;
        if *format == Format::Text {
            for byte in text {
                match byte {
                    b'\\' => out.extend(b"\\\\"),
                    b'\n' => out.extend(b"\\n"),
                    b'\r' => out.extend(b"\\r"),
                    b'\t' => out.extend(b"\\t"),
                    8 => out.extend(b"\\b"),
                    11 => out.extend(b"\\v"),
                    12 => out.extend(b"\\f"),
                    byte if byte == delimiter => out.extend([b'\\', *byte]),
                    byte => out.push(*byte),
                }
            }
            return;
        }
        let is_special = |byte: &u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
        let is_quoted = is_forced || text == null || text == b"\\." || text.iter().any(is_special);
        if !is_quoted {
            out.extend(text);
            return;
        }
        out.push(*quote);
        for byte in text {
            if byte == quote || byte == escape {
                out.push(*escape);
            }
            out.push(*byte);
        }
        out.push(*quote);
    }
}

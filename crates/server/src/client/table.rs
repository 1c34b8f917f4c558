//! Shows rows as psql does.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::connection::{Column, Row};

/// How rows are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Without names and the number of rows.
    pub is_bare: bool,
    /// With `|` between values, and no lines.
    pub is_unaligned: bool,
    /// Each value on a line of its own.
    pub is_expanded: bool,
}

/// Types whose values stand at the right.
const RIGHT: [u32; 10] = [20, 21, 23, 26, 28, 29, 700, 701, 790, 1700];

/// Rows that are to be shown.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Makes a table without rows.
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: &Row) {
        let text = |value: Option<&[u8]>| String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
        self.rows.push(row.values().map(text).collect());
    }

    /// Returns what is printed.
    pub fn show(&self, style: Style) -> String {
        match style {
            Style { is_unaligned: true, .. } => self.unaligned(style),
            Style { is_expanded: true, .. } => self.expanded(style),
            _ => self.aligned(style),
        }
    }

    fn footer(&self) -> String {
        match self.rows.len() {
            1 => "(1 row)\n".to_owned(),
            count => format!("({count} rows)\n"),
        }
    }

    fn unaligned(&self, style: Style) -> String {
        let mut out = String::new();
        if style.is_expanded {
            for (at, row) in self.rows.iter().enumerate() {
                out.push_str(if at > 0 { "\n" } else { "" });
                for (column, value) in self.columns.iter().zip(row) {
                    out.push_str(&format!("{}|{value}\n", column.name));
                }
            }
            return out;
        }
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        if !style.is_bare {
            out.push_str(&names.join("|"));
            out.push('\n');
        }
        for row in &self.rows {
            out.push_str(&row.join("|"));
            out.push('\n');
        }
        if !style.is_bare {
            out.push_str(&self.footer());
        }
        out
    }

    fn aligned(&self, style: Style) -> String {
        if self.columns.is_empty() {
            return if style.is_bare { String::new() } else { format!("--\n{}\n", self.footer()) };
        }
        let names: Vec<String> = self.columns.iter().map(|column| shown(&column.name).join(" ")).collect();
        let cells: Vec<Vec<Vec<String>>> =
            self.rows.iter().map(|row| row.iter().map(|value| shown(value)).collect()).collect();
        let widths: Vec<usize> = names
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let lines = cells.iter().filter_map(|row| row.get(at)).flatten();
                lines.map(|line| line.width()).chain([name.width()]).max().unwrap_or(0)
            })
            .collect();
        let mut out = String::new();
        if !style.is_bare {
            let centred = names.iter().zip(&widths).map(|(name, width)| {
                let blank = width - name.width();
                format!(" {}{name}{} ", " ".repeat(blank / 2), " ".repeat(blank.div_ceil(2)))
            });
            out.push_str(&centred.collect::<Vec<_>>().join("|"));
            out.push('\n');
            let lines: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
            out.push_str(&lines.join("+"));
            out.push('\n');
        }
        for row in &cells {
            self.push_row(row, &widths, &mut out);
        }
        if !style.is_bare {
            out.push_str(&self.footer());
        }
        out.push('\n');
        out
    }

    /// A row, whose values may have several lines.
    fn push_row(&self, row: &[Vec<String>], widths: &[usize], out: &mut String) {
        let height = row.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
                let (text, is_last) = (cell.get(line).map_or("", String::as_str), at + 1 == row.len());
                let goes_on = line + 1 < cell.len();
                let blank = " ".repeat(width - text.width());
                out.push(' ');
                match RIGHT.contains(&self.columns[at].type_oid) {
                    // Below its last line the last value takes no room.
                    _ if is_last && line >= cell.len() => {}
                    true => out.push_str(&format!("{blank}{text}")),
                    false if is_last && !goes_on => out.push_str(text),
                    false => out.push_str(&format!("{text}{blank}")),
                }
                match (goes_on, is_last) {
                    (true, true) => out.push('+'),
                    (true, false) => out.push_str("+|"),
                    (false, false) => out.push_str(" |"),
                    (false, true) => {}
                }
            }
            out.push('\n');
        }
    }

    fn expanded(&self, style: Style) -> String {
        if self.rows.is_empty() {
            return if style.is_bare { String::new() } else { "(0 rows)\n\n".to_owned() };
        }
        let names = self.columns.iter().map(|column| shown(&column.name).join(" "));
        let names: Vec<String> = names.collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let values = self.rows.iter().flatten().flat_map(|value| shown(value)).map(|line| line.width()).max();
        let values = values.unwrap_or(0);
        let mut out = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            if !style.is_bare {
                out.push_str(&record_line(number + 1, width, values));
            } else if number > 0 {
                out.push('\n');
            }
            for (name, value) in names.iter().zip(row) {
                let lines = shown(value);
                for (at, line) in lines.iter().enumerate() {
                    let name = if at == 0 { name.as_str() } else { "" };
                    let blank = " ".repeat(width - name.width());
                    let goes_on = at + 1 < lines.len();
                    let mark = if goes_on { "+" } else { "" };
                    let after = if goes_on { " ".repeat(values - line.width()) } else { String::new() };
                    out.push_str(&format!("{name}{blank} | {line}{after}{mark}\n"));
                }
            }
        }
        out.push('\n');
        out
    }
}

/// The line above a record.
fn record_line(number: usize, names: usize, values: usize) -> String {
    let head = format!("-[ RECORD {number} ]");
    let (left, right) = (names + 1, values + 1);
    match head.len().cmp(&left) {
        std::cmp::Ordering::Less => format!("{head}{}+{}\n", "-".repeat(left - head.len()), "-".repeat(right)),
        std::cmp::Ordering::Equal => format!("{head}+{}\n", "-".repeat(right)),
        std::cmp::Ordering::Greater => {
            let whole = left + 1 + right;
            format!("{head}{}\n", "-".repeat(whole.saturating_sub(head.len())))
        }
    }
}

/// The lines of a value, with what a terminal would not show.
fn shown(value: &str) -> Vec<String> {
    let line = |line: &str| {
        let (mut out, mut width) = (String::with_capacity(line.len()), 0);
        for c in line.chars() {
            let before = out.len();
            match c {
                '\t' => out.push_str(&" ".repeat(8 - width % 8)),
                '\r' => out.push_str("\\r"),
                c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02X}", c as u32)),
                c => {
                    out.push(c);
                    width += c.width().unwrap_or(0);
                    continue;
                }
            }
            width += out.len() - before;
        }
        out
    };
    value.split('\n').map(line).collect()
}

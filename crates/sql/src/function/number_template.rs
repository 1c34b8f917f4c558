//! Numbers by templates: `to_char` and `to_number`.
//!
//! A template is read once ([`Template::parse`]): pieces, and what they say together. A number is then written digit by digit,
//! one for each digit of the template, behind as many blanks as the template has digits more than the number.
//!
//! Absent: signs, separators and currencies of other locales than `C`.

use super::argument::*;
use super::bound::template_fits;
use super::functions;
use crate::datum::Datum;
use crate::error::{Result, SqlError, SqlState};
use crate::value::numeric::Numeric;

functions! {
    /// Functions of templates of numbers.
    FUNCTIONS:
    "to_char" (Int4, Text) -> Text = |_, a| integer_text(int(&a[0]), text(&a[1]));
    "to_char" (Int8, Text) -> Text = |_, a| whole_text(int(&a[0]), text(&a[1]));
    "to_char" (Numeric, Text) -> Text = |_, a| numeric_text(numeric(&a[0]), text(&a[1]));
    "to_char" (Float4, Text) -> Text = |_, a| float_text(float(&a[0]), text(&a[1]), f32::DIGITS as usize);
    "to_char" (Float8, Text) -> Text = |_, a| float_text(float(&a[0]), text(&a[1]), f64::DIGITS as usize);
    "to_number" (Text, Text) -> Numeric = |_, a| read(text(&a[0]), text(&a[1]));
}

/// Keywords; a longer one stands before those that it starts with.
const KEYWORDS: &[(&str, Key)] = &[
    (",", Key::Comma),
    (".", Key::Point),
    ("0", Key::Zero),
    ("9", Key::Nine),
    ("B", Key::Blank),
    ("C", Key::Ignored),
    ("D", Key::Point),
    ("EEEE", Key::Exponent),
    ("FM", Key::Fill),
    ("G", Key::Comma),
    ("L", Key::Currency),
    ("MI", Key::Minus),
    ("PL", Key::Plus),
    ("PR", Key::Bracket),
    ("RN", Key::Roman),
    ("SG", Key::Sign),
    ("SP", Key::Ignored),
    ("S", Key::LocaleSign),
    ("TH", Key::Ordinal),
    ("V", Key::Shift),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Comma,
    Point,
    Zero,
    Nine,
    Blank,
    Exponent,
    Fill,
    Currency,
    Minus,
    Plus,
    Bracket,
    Roman,
    Sign,
    LocaleSign,
    Ordinal,
    Shift,
    /// What PostgreSQL accepts and does nothing for.
    Ignored,
}

/// A piece of a template.
#[derive(Debug)]
enum Piece {
    /// A keyword, and whether it begins with a small letter.
    Key(Key, bool),
    Literal(char),
}

/// Where the sign of `S` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Before,
    Behind,
}

#[derive(Debug, Default)]
struct Template {
    pieces: Vec<Piece>,
    /// Digits before and behind the point, and those by which `V` shifts.
    before: usize,
    behind: usize,
    shift: usize,
    /// How many digits stand before the first `0`, and up to the last one.
    zero_start: Option<usize>,
    zero_end: usize,
    has_point: bool,
    is_filled: bool,
    is_roman: bool,
    is_scientific: bool,
    has_bracket: bool,
    has_minus: bool,
    has_plus: bool,
    has_shift: bool,
    anchor: Option<Anchor>,
    /// How many digits stand before `S`.
    before_sign: usize,
}

fn refused<T>(message: impl Into<String>) -> Result<T> {
    Err(SqlError::new(SqlState::SyntaxError, message))
}

impl Template {
    fn parse(text: &str) -> Result<Template> {
        template_fits(text)?;
        let mut template = Template::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = KEYWORDS
                .iter()
                .find(|(name, _)| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
            if let Some((name, key)) = found {
                template.take(*key)?;
                template.pieces.push(Piece::Key(*key, first.is_ascii_lowercase()));
                rest = &rest[name.len()..];
                continue;
            }
            rest = &rest[first.len_utf8()..];
            if first == '"' {
                let mut characters = rest.char_indices();
                let mut end = rest.len();
                while let Some((at, character)) = characters.next() {
                    match character {
                        '"' => {
                            end = at + 1;
                            break;
                        }
                        '\\' => template.pieces.extend(characters.next().map(|(_, next)| Piece::Literal(next))),
                        other => template.pieces.push(Piece::Literal(other)),
                    }
                }
                rest = &rest[end..];
            } else if first == '\\' && rest.starts_with('"') {
                template.pieces.push(Piece::Literal('"'));
                rest = &rest[1..];
            } else {
                template.pieces.push(Piece::Literal(first));
            }
        }
        Ok(template)
    }

    /// Notes what a keyword says of the whole.
    fn take(&mut self, key: Key) -> Result<()> {
        let has_sign = self.has_plus || self.has_minus || self.has_bracket;
        if self.is_scientific && key != Key::Exponent {
            return refused("\"EEEE\" must be the last pattern used");
        }
        match key {
            Key::Nine | Key::Zero if self.has_bracket => {
                return refused(format!("\"{}\" must be ahead of \"PR\"", if key == Key::Nine { 9 } else { 0 }));
            }
            Key::Nine if self.has_shift => self.shift += 1,
            Key::Nine if self.has_point => self.behind += 1,
            Key::Nine => self.before += 1,
            Key::Zero => {
                if self.zero_start.is_none() && !self.has_point {
                    self.zero_start = Some(self.before);
                }
                if self.has_point {
                    self.behind += 1;
                } else {
                    self.before += 1;
                }
                self.zero_end = self.before + self.behind;
            }
            Key::Point if self.has_point => return refused("multiple decimal points"),
            Key::Point if self.has_shift => return refused("cannot use \"V\" and decimal point together"),
            Key::Shift if self.has_point => return refused("cannot use \"V\" and decimal point together"),
            Key::Point => self.has_point = true,
            Key::Shift => self.has_shift = true,
            Key::Fill => self.is_filled = true,
            Key::LocaleSign if self.anchor.is_some() => return refused("cannot use \"S\" twice"),
            Key::LocaleSign if has_sign => {
                return refused("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together");
            }
            Key::LocaleSign => {
                self.anchor = Some(if self.has_point { Anchor::Behind } else { Anchor::Before });
                self.before_sign = self.before;
            }
            Key::Minus | Key::Plus | Key::Sign if self.anchor.is_some() => {
                let name = ["MI", "PL", "SG"][usize::from(key == Key::Plus) + 2 * usize::from(key == Key::Sign)];
                return refused(format!("cannot use \"S\" and \"{name}\" together"));
            }
            Key::Minus => self.has_minus = true,
            Key::Plus => self.has_plus = true,
            Key::Sign => (self.has_minus, self.has_plus) = (true, true),
            Key::Bracket if self.anchor.is_some() || has_sign => {
                return refused("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together");
            }
            Key::Bracket => self.has_bracket = true,
            Key::Roman => self.is_roman = true,
            Key::Exponent if self.is_scientific => return refused("cannot use \"EEEE\" twice"),
            Key::Exponent => {
                if self.is_filled || self.anchor.is_some() || has_sign || self.is_roman || self.has_shift {
                    return refused("\"EEEE\" is incompatible with other formats");
                }
                self.is_scientific = true;
            }
            Key::Comma | Key::Blank | Key::Currency | Key::Ordinal | Key::Ignored => {}
        }
        Ok(())
    }
}

/// The digits of a number as they are to be written, without a sign.
struct Digits {
    is_negative: bool,
    text: Vec<u8>,
    /// How many digits the template has more than the number.
    blanks: usize,
}

impl Digits {
    /// Takes the text of a number with as many digits behind the point as the template has; where it has too many before, `#`
    /// stand for all digits.
    fn new(template: &Template, text: &str) -> Digits {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let before = text.find('.').unwrap_or(text.len());
        let mut text = text.as_bytes().to_vec();
        if before > template.before {
            text = vec![b'#'; template.before + template.behind + 1];
            text[template.before] = b'.';
        }
        Digits { is_negative, text, blanks: template.before.saturating_sub(before) }
    }
}

/// As [`whole_text`], for numbers that a float holds: PostgreSQL writes exponents with one.
fn integer_text(value: i64, text: &str) -> Result<Datum> {
    let template = Template::parse(text)?;
    if template.is_scientific {
        return Ok(Datum::text(exponent(&format!("{:.*e}", template.behind, value as f64))));
    }
    whole_text(value, text)
}

fn whole_text(value: i64, template: &str) -> Result<Datum> {
    numeric_text(&Numeric::from_i64(value), template)
}

fn numeric_text(value: &Numeric, template: &str) -> Result<Datum> {
    let mut template = Template::parse(template)?;
    if template.is_roman {
        let digits = roman(value.round(0).to_i64());
        return Ok(Datum::text(Writer::roman(&template, digits).write(&template)));
    }
    if template.is_scientific {
        return Ok(Datum::text(if value.is_finite() { scientific(value, template.behind) } else { hashes(&template) }));
    }
    let mut value = value.clone();
    if template.has_shift {
        let factor = Numeric::from_i64(10).power(&Numeric::from_i64(template.shift as i64))?;
        value = value.mul(&factor);
        template.before += template.shift;
    }
    let mut out = Vec::new();
    value.round(template.behind as i32).push(&mut out);
    let digits = Digits::new(&template, &String::from_utf8_lossy(&out));
    Ok(Datum::text(Writer::new(&template, digits).write(&template)))
}

fn float_text(value: f64, template: &str, digits_max: usize) -> Result<Datum> {
    let mut template = Template::parse(template)?;
    if template.is_roman {
        let whole = value.round_ties_even();
        let digits = roman((whole.abs() < 1e9).then_some(whole as i64));
        return Ok(Datum::text(Writer::roman(&template, digits).write(&template)));
    }
    if template.is_scientific {
        let shown =
            if value.is_finite() { exponent(&format!("{value:.*e}", template.behind)) } else { hashes(&template) };
        return Ok(Datum::text(shown));
    }
    let mut value = value;
    if template.has_shift {
        value *= 10_f64.powi(template.shift as i32);
        template.before += template.shift;
    }
    let before = format!("{:.0}", value.abs()).len();
    if before >= digits_max {
        template.behind = 0;
    } else {
        template.behind = template.behind.min(digits_max - before);
    }
    let shown = if value.is_finite() {
        format!("{value:.*}", template.behind)
    } else {
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        format!("{}{name}", if value < 0.0 { "-" } else { "" })
    };
    let digits = Digits::new(&template, &shown);
    Ok(Datum::text(Writer::new(&template, digits).write(&template)))
}

/// What stands for a number that has no exponent.
fn hashes(template: &Template) -> String {
    let mut hashes = vec![b'#'; template.before + template.behind + 6];
    (hashes[0], hashes[template.before + 1]) = (b' ', b'.');
    String::from_utf8_lossy(&hashes).into_owned()
}

/// A finite number with so many digits behind the point and an exponent.
fn scientific(value: &Numeric, behind: usize) -> String {
    let mut out = Vec::new();
    value.abs().push(&mut out);
    let text = String::from_utf8_lossy(&out).into_owned();
    let point = text.find('.').unwrap_or(text.len());
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let Some(first) = digits.find(|digit| digit != '0') else {
        return exponent(&format!("{:.behind$e}", 0.0));
    };
    let mut power = point as i64 - first as i64 - 1;
    let mut kept: Vec<u8> = digits.as_bytes()[first..].to_vec();
    kept.push(b'0');
    let rounds_up = kept.get(behind + 1).is_some_and(|digit| *digit >= b'5');
    kept.resize(behind + 1, b'0');
    if rounds_up {
        let mut at = kept.len();
        loop {
            if at == 0 {
                kept.insert(0, b'1');
                kept.pop();
                power += 1;
                break;
            }
            at -= 1;
            if kept[at] < b'9' {
                kept[at] += 1;
                break;
            }
            kept[at] = b'0';
        }
    }
    let mut shown = String::from(if value.sign() < 0 { "-" } else { "" });
    shown.push(char::from(kept[0]));
    if behind > 0 {
        shown.push('.');
        shown.extend(kept[1..].iter().map(|digit| char::from(*digit)));
    }
    exponent(&format!("{shown}e{power}"))
}

/// Writes an exponent as C does, with a sign and two digits, and a blank in place of a plus before the number.
fn exponent(text: &str) -> String {
    let (digits, power) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    let blank = if digits.starts_with('-') { "" } else { " " };
    format!("{blank}{digits}e{sign}{power:0>2}")
}

/// Roman digits; `#` for what has none.
fn roman(value: Option<i64>) -> String {
    const DIGITS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let Some(mut rest) = value.filter(|value| (1..4000).contains(value)) else { return "#".repeat(15) };
    let mut out = String::new();
    for (digit, letters) in DIGITS {
        while rest >= digit {
            out.push_str(letters);
            rest -= digit;
        }
    }
    out
}

/// A number that is written by a template.
struct Writer {
    digits: Digits,
    /// How many digits of the template are done, and characters of the number.
    done: usize,
    taken: usize,
    is_sign_written: bool,
    has_bracket: bool,
    anchor: Option<Anchor>,
    is_within: bool,
    /// The last character of the number that `FM` keeps.
    last: Option<usize>,
    /// How many digits the template has, with one for the sign.
    count: usize,
    out: String,
}

impl Writer {
    fn new(template: &Template, digits: Digits) -> Writer {
        let mut anchor = template.anchor;
        let has_bracket = template.has_bracket && (digits.is_negative || !template.is_filled);
        let is_sign_written = match (template.has_plus, template.has_minus) {
            (true, false) => false,
            (false, false) => !digits.is_negative && template.is_filled && anchor.is_none(),
            _ => true,
        };
        if anchor == Some(Anchor::Before) && template.before == template.before_sign {
            anchor = Some(Anchor::Behind);
        }
        let mut last = None;
        if template.is_filled && template.has_point {
            last = digits.text.iter().position(|digit| *digit == b'.').map(|point| {
                let nonzero = digits.text[point + 1..].iter().rposition(|digit| *digit != b'0');
                let last = nonzero.map_or(point, |at| point + 1 + at);
                let zeros = template.zero_end.saturating_sub(digits.blanks).min(digits.text.len() - 1);
                last.max(if template.zero_end > digits.blanks { zeros } else { 0 })
            });
        }
        let count =
            (template.before + template.behind + usize::from(!is_sign_written && digits.blanks == 0)).saturating_sub(1);
        Writer {
            digits,
            done: 0,
            taken: 0,
            is_sign_written,
            has_bracket,
            anchor,
            is_within: false,
            last,
            count,
            out: String::new(),
        }
    }

    fn roman(template: &Template, digits: String) -> Writer {
        let width = if template.is_filled { 0 } else { 15 };
        let digits = Digits { is_negative: false, text: format!("{digits:>width$}").into_bytes(), blanks: 0 };
        Writer::new(&Template { is_filled: template.is_filled, ..Template::default() }, digits)
    }

    fn write(mut self, template: &Template) -> String {
        for piece in &template.pieces {
            let (key, is_small) = match piece {
                Piece::Literal(character) => {
                    self.out.push(*character);
                    continue;
                }
                Piece::Key(key, is_small) => (*key, *is_small),
            };
            let blank = if template.is_filled { "" } else { " " };
            match key {
                Key::Nine | Key::Zero | Key::Point if !template.is_roman => self.digit(template, key),
                Key::Comma if !self.is_within => self.out.push_str(blank),
                Key::Comma => self.out.push(','),
                Key::Currency => self.out.push(' '),
                Key::Roman => {
                    let digits = String::from_utf8_lossy(&self.digits.text).into_owned();
                    self.out.push_str(&if is_small { digits.to_lowercase() } else { digits });
                }
                Key::Ordinal => {
                    let is_whole = !template.is_roman && !template.has_point && !self.digits.is_negative;
                    if is_whole && self.digits.text.first() != Some(&b'#') {
                        let number = String::from_utf8_lossy(&self.digits.text).parse().unwrap_or(0);
                        self.out.push_str(super::template::suffix(number, !is_small));
                    }
                }
                Key::Minus if self.digits.is_negative => self.out.push('-'),
                Key::Plus if !self.digits.is_negative => self.out.push('+'),
                Key::Minus | Key::Plus => self.out.push_str(blank),
                Key::Sign => self.out.push(if self.digits.is_negative { '-' } else { '+' }),
                _ => {}
            }
        }
        self.out
    }

    /// Whether the digit at hand is the `0` before the point, in place of which a blank is written.
    fn is_zero_before_point(&self, template: &Template) -> bool {
        template.zero_start.is_none()
            && self.taken == 0
            && self.digits.text.first() == Some(&b'0')
            && template.behind != 0
    }

    /// Writes what stands for one digit, or for the point.
    fn digit(&mut self, template: &Template, key: Key) {
        self.is_within = false;
        let has_begun = template.zero_start == Some(self.done);
        let ends_at_point = self.last.is_some_and(|last| self.digits.text[last] == b'.');
        if !self.is_sign_written
            && (self.done >= self.digits.blanks || has_begun)
            && (!self.is_zero_before_point(template) || ends_at_point)
        {
            self.sign(template);
        }
        if self.done < self.digits.blanks {
            match template.zero_start {
                Some(start) if start <= self.done => {
                    self.out.push('0');
                    self.is_within = true;
                }
                _ if !template.is_filled => self.out.push(' '),
                _ => {}
            }
        } else {
            let digit = self.digits.text.get(self.taken).copied();
            let is_cut = self.last.is_some_and(|last| self.taken > last) && key != Key::Zero;
            if digit == Some(b'.') {
                if !ends_at_point || template.is_filled {
                    self.out.push('.');
                }
            } else if is_cut {
            } else if self.is_zero_before_point(template) {
                if !template.is_filled {
                    self.out.push(' ');
                } else if ends_at_point {
                    self.out.push('0');
                }
            } else if let Some(digit) = digit {
                self.out.push(char::from(digit));
                self.is_within = true;
            }
            self.taken += usize::from(digit.is_some());
        }
        let mut end = self.count + usize::from(self.digits.blanks > 0) + usize::from(template.has_point);
        if self.last.is_some_and(|last| last == self.taken) {
            end = self.done;
        }
        if self.done + 1 == end {
            if self.is_sign_written && self.has_bracket {
                self.out.push(if self.digits.is_negative { '>' } else { ' ' });
            } else if self.anchor == Some(Anchor::Behind) {
                self.out.push(if self.digits.is_negative { '-' } else { '+' });
            }
        }
        self.done += 1;
    }

    /// Writes the sign before the first digit, unless it goes behind the last one.
    fn sign(&mut self, template: &Template) {
        match (self.anchor, self.digits.is_negative) {
            (Some(Anchor::Behind), _) => return,
            (Some(Anchor::Before), is_negative) => self.out.push(if is_negative { '-' } else { '+' }),
            (None, is_negative) if self.has_bracket => self.out.push(if is_negative { '<' } else { ' ' }),
            (None, true) => self.out.push('-'),
            (None, false) if !template.is_filled => self.out.push(' '),
            (None, false) => {}
        }
        self.is_sign_written = true;
    }
}

/// Reads a number by a template.
fn read(value: &str, template: &str) -> Result<Datum> {
    if template.is_empty() {
        return Ok(Datum::Null);
    }
    let template = Template::parse(template)?;
    if template.is_roman || template.is_scientific {
        let what = if template.is_roman { "\"RN\"" } else { "\"EEEE\"" };
        return Err(SqlError::new(SqlState::FeatureNotSupported, format!("{what} not supported for input")));
    }
    let mut reader = Reader { rest: value, number: String::new(), is_negative: None, has_point: false, behind: 0 };
    for piece in &template.pieces {
        if reader.rest.is_empty() {
            break;
        }
        let key = match piece {
            Piece::Literal(_) => {
                reader.skip();
                continue;
            }
            Piece::Key(key, _) => *key,
        };
        match key {
            Key::Nine | Key::Zero | Key::Point => reader.digit(&template),
            Key::Comma => {
                reader.rest = reader.rest.strip_prefix(',').unwrap_or(reader.rest);
            }
            Key::Currency => reader.skip(),
            Key::Minus | Key::Plus | Key::Sign | Key::LocaleSign => reader.sign(),
            Key::Ordinal => reader.rest = reader.rest.get(2..).unwrap_or(""),
            _ => {}
        }
    }
    // A sign or a bracket that the template leaves over.
    if template.anchor.is_some() || template.has_bracket || template.has_minus || template.has_plus {
        reader.sign();
    }
    let sign = if reader.is_negative == Some(true) { "-" } else { "" };
    let text = format!("{sign}{}", if reader.number.is_empty() { "" } else { reader.number.trim_end_matches('.') });
    let number = Numeric::read(&text)?;
    if !template.has_shift {
        return Ok(make_numeric(number));
    }
    let factor = Numeric::from_i64(10).power(&Numeric::from_i64(template.shift as i64))?;
    number.div(&factor).map(make_numeric)
}

/// A text that is read by a template.
struct Reader<'t> {
    rest: &'t str,
    number: String,
    is_negative: Option<bool>,
    has_point: bool,
    behind: usize,
}

impl Reader<'_> {
    fn skip(&mut self) {
        let mut characters = self.rest.chars();
        characters.next();
        self.rest = characters.as_str();
    }

    fn sign(&mut self) {
        let first = self.rest.trim_start().chars().next();
        if let Some(first @ ('-' | '+' | '<' | '>')) = first {
            self.rest = self.rest.trim_start();
            if first != '>' && self.is_negative.is_none() {
                self.is_negative = Some(first != '+');
            }
            self.skip();
        }
    }

    /// Takes one digit, or the point, with a sign before the first of them.
    fn digit(&mut self, template: &Template) {
        if self.number.is_empty() {
            self.rest = self.rest.trim_start();
            self.sign();
        }
        match self.rest.chars().next() {
            Some(digit) if digit.is_ascii_digit() => {
                if self.has_point && self.behind == template.behind {
                    return;
                }
                self.number.push(digit);
                self.behind += usize::from(self.has_point);
                self.skip();
            }
            Some('.') if template.has_point && !self.has_point => {
                self.number.push('.');
                self.has_point = true;
                self.skip();
            }
            _ => {}
        }
    }
}

//! Ordered-set aggregates: those with `WITHIN GROUP`.
//!
//! Invariants:
//! - The executor sorts rows before it gives them to the state: values come in the order that the call asks for.
//! - Of a hypothetical row the state sees how each row compares with it, and the keys of that row.

use std::collections::HashSet;

use super::aggregate::{Accumulator, ResolvedAggregate};
use super::argument::*;
use super::resolve::{Failure, function_error};
use crate::datum::Datum;
use crate::datum::Datum::{Float, Int, Null};
use crate::error::{Result, SqlState};
use crate::types::{Modifier, Type};
use crate::value::{Conversion, conversion};

/// What an ordered-set aggregate does with its direct arguments.
#[derive(Clone, Debug)]
pub enum Direct {
    /// They say what is asked of the rows. The function takes them before the value that rows are sorted by.
    Parameters(ResolvedAggregate),
    /// They are the row that is put among the others; its types become those of the keys. The function takes an integer that
    /// says how a row compares with it, and the keys of the row.
    Row(ResolvedAggregate),
}

const NAMES: &[&str] =
    &["percentile_cont", "percentile_disc", "mode", "rank", "dense_rank", "percent_rank", "cume_dist"];

/// Whether an ordered-set aggregate has the name.
pub(super) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Finds the ordered-set aggregate that a call means.
///
/// # Errors
/// 42883 where the arguments do not fit.
pub fn resolve_ordered_set(name: &str, direct: &[Type], sorted: &[Type]) -> Result<Direct> {
    let fault = || function_error(&Failure::None, name, &[direct, sorted].concat());
    let resolved =
        |arguments: Vec<Type>, returns, make| ResolvedAggregate { arguments, returns, modifier: Modifier::None, make };
    let is_row = !direct.is_empty() && direct.len() == sorted.len();
    let row = |returns, make| match is_row {
        true => Ok(Direct::Row(resolved(Vec::new(), returns, make))),
        false => Err(fault()),
    };
    match name {
        "rank" => return row(Type::Int8, |_, _| place(Place::Rank)),
        "dense_rank" => return row(Type::Int8, |_, _| place(Place::DenseRank)),
        "percent_rank" => return row(Type::Float8, |_, _| place(Place::PercentRank)),
        "cume_dist" => return row(Type::Float8, |_, _| place(Place::CumeDist)),
        _ => {}
    }
    let [value] = sorted else { return Err(fault()) };
    let value = if *value == Type::Unknown { Type::Text } else { *value };
    if name == "mode" {
        let make = |_: &[Type], _: &_| -> Box<dyn Accumulator> { Box::new(Mode::default()) };
        return match direct {
            [] => Ok(Direct::Parameters(resolved(vec![value], value, make))),
            _ => Err(fault()),
        };
    }
    let [fraction] = direct else { return Err(fault()) };
    let fits = |to: Type| *fraction == Type::Unknown || conversion(*fraction, to) == Some(Conversion::Implicit);
    let many = Type::Array(&Type::Float8);
    let is_many = fraction.element().is_some();
    let wanted = if is_many { many } else { Type::Float8 };
    if *fraction != wanted && !fits(wanted) {
        return Err(fault());
    }
    let is_continuous = name == "percentile_cont";
    let value = match value {
        value if !is_continuous => value,
        Type::Interval => Type::Interval,
        value if value == Type::Float8 || conversion(value, Type::Float8) == Some(Conversion::Implicit) => Type::Float8,
        _ => return Err(fault()),
    };
    let returns = if is_many { value.array().ok_or_else(fault)? } else { value };
    let make = if is_continuous { percentile_cont } else { percentile_disc };
    Ok(Direct::Parameters(resolved(vec![wanted, value], returns, make)))
}

/// `mode`: the value that most rows have, the first of these in the order.
#[derive(Default)]
struct Mode {
    last: Option<Datum>,
    rows: u64,
    best: Option<Datum>,
    rows_of_best: u64,
}

impl Accumulator for Mode {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let value = &arguments[0];
        if value.is_null() {
            return Ok(());
        }
        self.rows = if self.last.as_ref() == Some(value) { self.rows + 1 } else { 1 };
        self.last = Some(value.clone());
        if self.rows > self.rows_of_best {
            (self.best, self.rows_of_best) = (Some(value.clone()), self.rows);
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(self.best.clone().unwrap_or(Null))
    }

    fn bytes(&self) -> usize {
        size_of::<Mode>()
    }
}

/// The values of a group, in order, and the share of them that is asked for.
struct Percentile {
    is_continuous: bool,
    fraction: Datum,
    values: Vec<Datum>,
}

fn percentile_cont(_: &[Type], _: &crate::settings::Settings) -> Box<dyn Accumulator> {
    Box::new(Percentile { is_continuous: true, fraction: Null, values: Vec::new() })
}

fn percentile_disc(_: &[Type], _: &crate::settings::Settings) -> Box<dyn Accumulator> {
    Box::new(Percentile { is_continuous: false, fraction: Null, values: Vec::new() })
}

impl Percentile {
    fn at(&self, fraction: &Datum) -> Result<Datum> {
        let Float(fraction) = *fraction else { return Ok(Null) };
        if !(0.0..=1.0).contains(&fraction) {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            return Err(error(SqlState::NumericValueOutOfRange, message));
        }
        let count = self.values.len();
        if count == 0 {
            return Ok(Null);
        }
        if !self.is_continuous {
            let row = (fraction * count as f64).ceil() as usize;
            return Ok(self.values[row.max(1) - 1].clone());
        }
        let place = fraction * (count - 1) as f64;
        let (low, high) = (&self.values[place.floor() as usize], &self.values[place.ceil() as usize]);
        let share = place - place.floor();
        match (low, high) {
            (Float(low), Float(high)) if low == high => Ok(Float(*low)),
            (Float(low), Float(high)) => Ok(Float(low + share * (high - low))),
            _ => {
                let (low, high) = (interval(low), interval(high));
                low.add(&high.sub(&low)?.mul(share)?).map(Datum::Interval)
            }
        }
    }
}

impl Accumulator for Percentile {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        self.fraction = arguments[0].clone();
        if !arguments[1].is_null() {
            self.values.push(arguments[1].clone());
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        match &self.fraction {
            Datum::Array(fractions) if !self.values.is_empty() => {
                fractions.iter().map(|fraction| self.at(fraction)).collect::<Result<Vec<_>>>().map(array)
            }
            Datum::Array(_) => Ok(Null),
            one => self.at(one),
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Percentile>() + self.values.capacity() * size_of::<Datum>()
    }
}

/// What is asked of a hypothetical row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

/// How many rows come before a hypothetical one.
struct Hypothetical {
    place: Place,
    rows: i64,
    before: i64,
    equal: i64,
    /// The keys of the rows before, where each counts once.
    keys: HashSet<Datum>,
}

fn place(place: Place) -> Box<dyn Accumulator> {
    Box::new(Hypothetical { place, rows: 0, before: 0, equal: 0, keys: HashSet::new() })
}

impl Accumulator for Hypothetical {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        self.rows += 1;
        match int(&arguments[0]) {
            ..0 => {
                self.before += 1;
                if self.place == Place::DenseRank {
                    self.keys.insert(arguments[1].clone());
                }
            }
            0 => self.equal += 1,
            _ => {}
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(match self.place {
            Place::Rank => Int(self.before + 1),
            Place::DenseRank => Int(self.keys.len() as i64 + 1),
            Place::PercentRank if self.rows == 0 => Float(0.0),
            Place::PercentRank => Float(self.before as f64 / self.rows as f64),
            Place::CumeDist => Float((self.before + self.equal + 1) as f64 / (self.rows + 1) as f64),
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Hypothetical>() + self.keys.len() * (size_of::<Datum>() + 64)
    }
}

//! Aggregates: which one a call means, and the running state of one group.
//!
//! Invariants:
//! - NULL is no input, but for `count(*)`, `array_agg` and the aggregates that make JSON.
//! - Without input the result is NULL, but `count` gives 0.
//!
//! Absent: `DISTINCT`, `ORDER BY` and `FILTER`, which the executor applies to the input; aggregates with `WITHIN GROUP`, which
//! stand in their own file.

use std::cmp::Ordering;

use super::argument::*;
use super::regression::{Regression, pairs};
use super::resolve::{Overload, choose, function_error, signature};
use super::{Environment, Parameter, Returns};
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Float, Int, Null};
use crate::error::Result;
use crate::run::row_bytes;
use crate::settings::Settings;
use crate::types::{Modifier, Type};
use crate::value::interval::Interval;
use crate::value::numeric::Numeric;

/// The running state of an aggregate for one group.
pub trait Accumulator {
    /// Takes the arguments of one row.
    ///
    /// # Errors
    /// What the aggregate fails with, as a sum out of range.
    fn add(&mut self, arguments: &[Datum]) -> Result<()>;

    /// Takes the arguments of a row out again that were added; returns `false` where that is not possible, and the state is of
    /// no more use. Frames that move ask for it.
    fn remove(&mut self, _arguments: &[Datum]) -> bool {
        false
    }

    /// Returns the result for the rows until now.
    ///
    /// # Errors
    /// A result that its type does not hold.
    fn finish(&self) -> Result<Datum>;

    /// Returns about how many bytes the state takes.
    fn bytes(&self) -> usize;
}

/// What makes a state: by the types of the arguments, and the settings for what shows values.
pub(super) type Make = fn(&[Type], &Settings) -> Box<dyn Accumulator>;

struct Aggregate {
    name: &'static str,
    parameters: &'static [Parameter],
    returns: Returns,
    make: Make,
}

impl Overload for Aggregate {
    fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    fn returns(&self) -> Returns {
        self.returns
    }
}

/// An aggregate that a call means.
#[derive(Clone, Debug)]
pub struct ResolvedAggregate {
    /// What each argument must be cast to.
    pub arguments: Vec<Type>,
    /// The type of the result.
    pub returns: Type,
    /// What is declared beside it: the length of a `char(n)`.
    pub modifier: Modifier,
    pub(super) make: Make,
}

impl ResolvedAggregate {
    /// Makes the state of a new group.
    pub fn accumulator(&self, environment: &dyn Environment) -> Box<dyn Accumulator> {
        (self.make)(&self.arguments, environment.settings())
    }
}

macro_rules! aggregates {
    ($($name:literal ($($p:ident),*) -> $r:ident = $make:expr;)*) => {
        static AGGREGATES: &[Aggregate] = &[$(Aggregate {
            name: $name,
            parameters: &[$(super::parameter!($p)),*],
            returns: super::returns!($r),
            make: |types, settings| { let make: Make = $make; make(types, settings) },
        }),*];
    };
}

aggregates! {
    "count" () -> Int8 = |_, _| Box::new(Count { rows: 0 });
    "count" (Any) -> Int8 = |_, _| Box::new(Count { rows: 0 });
    "sum" (Int2) -> Int8 = |_, _| whole(|sum, _| int8(i64::try_from(sum).ok()));
    "sum" (Int4) -> Int8 = |_, _| whole(|sum, _| int8(i64::try_from(sum).ok()));
    "sum" (Int8) -> Numeric = |_, _| whole(|sum, _| Ok(make_numeric(Numeric::from_i128(sum))));
    "sum" (Numeric) -> Numeric = |_, _| decimal(|sum, _| sum.clone().checked());
    "sum" (Float4) -> Float4 = |_, _| moments(Statistic::SingleSum);
    "sum" (Float8) -> Float8 = |_, _| moments(Statistic::Sum);
    "sum" (Interval) -> Interval = |_, _| fold(|sum, next| Ok(Datum::Interval(interval(sum).add(&interval(next))?)));
    "avg" (Int2) -> Numeric = |_, _| whole(mean);
    "avg" (Int4) -> Numeric = |_, _| whole(mean);
    "avg" (Int8) -> Numeric = |_, _| whole(mean);
    "avg" (Numeric) -> Numeric = |_, _| decimal(|sum, count| sum.div(&Numeric::from_i64(count)));
    "avg" (Float4) -> Float8 = |_, _| moments(Statistic::Mean);
    "avg" (Float8) -> Float8 = |_, _| moments(Statistic::Mean);
    "avg" (Interval) -> Interval = |_, _| Box::new(MeanInterval::default());
    "bool_and" (Bool) -> Bool = |_, _| fold(|all, next| Ok(Bool(boolean(all) && boolean(next))));
    "every" (Bool) -> Bool = |_, _| fold(|all, next| Ok(Bool(boolean(all) && boolean(next))));
    "bool_or" (Bool) -> Bool = |_, _| fold(|any, next| Ok(Bool(boolean(any) || boolean(next))));
    "bit_and" (Int2) -> Int2 = |_, _| fold(|bits, next| Ok(Int(int(bits) & int(next))));
    "bit_and" (Int4) -> Int4 = |_, _| fold(|bits, next| Ok(Int(int(bits) & int(next))));
    "bit_and" (Int8) -> Int8 = |_, _| fold(|bits, next| Ok(Int(int(bits) & int(next))));
    "bit_or" (Int2) -> Int2 = |_, _| fold(|bits, next| Ok(Int(int(bits) | int(next))));
    "bit_or" (Int4) -> Int4 = |_, _| fold(|bits, next| Ok(Int(int(bits) | int(next))));
    "bit_or" (Int8) -> Int8 = |_, _| fold(|bits, next| Ok(Int(int(bits) | int(next))));
    "bit_xor" (Int2) -> Int2 = |_, _| fold(|bits, next| Ok(Int(int(bits) ^ int(next))));
    "bit_xor" (Int4) -> Int4 = |_, _| fold(|bits, next| Ok(Int(int(bits) ^ int(next))));
    "bit_xor" (Int8) -> Int8 = |_, _| fold(|bits, next| Ok(Int(int(bits) ^ int(next))));
    "min" (Int2) -> Int2 = |_, _| extreme(true);
    "min" (Int4) -> Int4 = |_, _| extreme(true);
    "min" (Int8) -> Int8 = |_, _| extreme(true);
    "min" (Float4) -> Float4 = |_, _| extreme(true);
    "min" (Float8) -> Float8 = |_, _| extreme(true);
    "min" (Numeric) -> Numeric = |_, _| extreme(true);
    "min" (Text) -> Text = |_, _| extreme(true);
    "min" (Char) -> Char = |_, _| extreme(true);
    "min" (Date) -> Date = |_, _| extreme(true);
    "min" (Time) -> Time = |_, _| extreme(true);
    "min" (Timestamp) -> Timestamp = |_, _| extreme(true);
    "min" (Timestamptz) -> Timestamptz = |_, _| extreme(true);
    "min" (Interval) -> Interval = |_, _| extreme(true);
    "min" (Oid) -> Oid = |_, _| extreme(true);
    "min" (Inet) -> Inet = |_, _| extreme(true);
    "min" (AnyArray) -> AnyArray = |_, _| extreme(true);
    "min" (AnyEnum) -> AnyElement = |_, _| extreme(true);
    "max" (Int2) -> Int2 = |_, _| extreme(false);
    "max" (Int4) -> Int4 = |_, _| extreme(false);
    "max" (Int8) -> Int8 = |_, _| extreme(false);
    "max" (Float4) -> Float4 = |_, _| extreme(false);
    "max" (Float8) -> Float8 = |_, _| extreme(false);
    "max" (Numeric) -> Numeric = |_, _| extreme(false);
    "max" (Text) -> Text = |_, _| extreme(false);
    "max" (Char) -> Char = |_, _| extreme(false);
    "max" (Date) -> Date = |_, _| extreme(false);
    "max" (Time) -> Time = |_, _| extreme(false);
    "max" (Timestamp) -> Timestamp = |_, _| extreme(false);
    "max" (Timestamptz) -> Timestamptz = |_, _| extreme(false);
    "max" (Interval) -> Interval = |_, _| extreme(false);
    "max" (Oid) -> Oid = |_, _| extreme(false);
    "max" (Inet) -> Inet = |_, _| extreme(false);
    "max" (AnyArray) -> AnyArray = |_, _| extreme(false);
    "max" (AnyEnum) -> AnyElement = |_, _| extreme(false);
    "string_agg" (Text, Text) -> Text = |_, _| Box::new(Joined { bytes: None, is_text: true });
    "string_agg" (Bytea, Bytea) -> Bytea = |_, _| Box::new(Joined { bytes: None, is_text: false });
    "array_agg" (AnyNonArray) -> AnyArray = |_, _| Box::new(List { values: Vec::new(), bytes: 0 });
    "json_agg" (Any) -> Json = |types, settings| json(types, settings, false, false);
    "jsonb_agg" (Any) -> Jsonb = |types, settings| json(types, settings, true, false);
    "json_object_agg" (Any, Any) -> Json = |types, settings| json(types, settings, false, true);
    "jsonb_object_agg" (Any, Any) -> Jsonb = |types, settings| json(types, settings, true, true);
    "bit_xor" (Int2) -> Int2 = |_, _| fold(|bits, next| Ok(Int(int(bits) ^ int(next))));
    "bit_xor" (Int4) -> Int4 = |_, _| fold(|bits, next| Ok(Int(int(bits) ^ int(next))));
    "bit_xor" (Int8) -> Int8 = |_, _| fold(|bits, next| Ok(Int(int(bits) ^ int(next))));
    "regr_count" (Float8, Float8) -> Int8 = |_, _| pairs(Regression::Count);
    "regr_avgx" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::MeanX);
    "regr_avgy" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::MeanY);
    "regr_sxx" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::SquaresX);
    "regr_syy" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::SquaresY);
    "regr_sxy" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::Products);
    "regr_slope" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::Slope);
    "regr_intercept" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::Intercept);
    "regr_r2" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::Determination);
    "corr" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::Correlation);
    "covar_pop" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::Covariance { is_sample: false });
    "covar_samp" (Float8, Float8) -> Float8 = |_, _| pairs(Regression::Covariance { is_sample: true });
    "variance" (Numeric) -> Numeric = |_, _| spread(true, false);
    "variance" (Float8) -> Float8 = |_, _| moments(Statistic::Variance { is_sample: true, is_root: false });
    "var_samp" (Numeric) -> Numeric = |_, _| spread(true, false);
    "var_samp" (Float8) -> Float8 = |_, _| moments(Statistic::Variance { is_sample: true, is_root: false });
    "var_pop" (Numeric) -> Numeric = |_, _| spread(false, false);
    "var_pop" (Float8) -> Float8 = |_, _| moments(Statistic::Variance { is_sample: false, is_root: false });
    "stddev" (Numeric) -> Numeric = |_, _| spread(true, true);
    "stddev" (Float8) -> Float8 = |_, _| moments(Statistic::Variance { is_sample: true, is_root: true });
    "stddev_samp" (Numeric) -> Numeric = |_, _| spread(true, true);
    "stddev_samp" (Float8) -> Float8 = |_, _| moments(Statistic::Variance { is_sample: true, is_root: true });
    "stddev_pop" (Numeric) -> Numeric = |_, _| spread(false, true);
    "stddev_pop" (Float8) -> Float8 = |_, _| moments(Statistic::Variance { is_sample: false, is_root: true });
}

/// Returns all aggregate functions.
pub fn aggregates() -> impl Iterator<Item = super::Signature> {
    AGGREGATES.iter().map(|aggregate| (aggregate.name, aggregate.parameters, aggregate.returns))
}

/// Whether an aggregate has the name.
pub(super) fn exists(name: &str) -> bool {
    AGGREGATES.iter().any(|aggregate| aggregate.name == name)
}

/// Finds the aggregate that a call means; `None` where none has the name. `count(*)` has no arguments.
///
/// # Errors
/// 42883 where the arguments do not fit, 42725 where several aggregates fit equally well.
pub fn resolve_aggregate(name: &str, arguments: &[Type]) -> Result<Option<ResolvedAggregate>> {
    let candidates: Vec<_> = AGGREGATES.iter().filter(|aggregate| aggregate.name == name).collect();
    if candidates.is_empty() {
        return Ok(None);
    }

    // Whole numbers and `real` have spreads of their own in PostgreSQL, with the types of numeric and of `double precision`.
    let is_spread = name.starts_with("std") || name.starts_with("var");
    let widened: Vec<Type> = match arguments {
        [ty] if is_spread && ty.is_integer() => vec![Type::Numeric],
        _ => arguments.to_vec(),
    };
    let chosen = choose(&candidates, &widened, &widened).and_then(|aggregate| {
        let (arguments, returns) = signature(aggregate, &widened)?;
        Ok(ResolvedAggregate { arguments, returns, modifier: Modifier::None, make: aggregate.make })
    });
    chosen.map(Some).map_err(|failure| function_error(&failure, name, arguments))
}

/// Counts rows whose argument, if there is one, is not NULL.
struct Count {
    rows: i64,
}

impl Accumulator for Count {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        self.rows += i64::from(!arguments.first().is_some_and(Datum::is_null));
        Ok(())
    }

    fn remove(&mut self, arguments: &[Datum]) -> bool {
        self.rows -= i64::from(!arguments.first().is_some_and(Datum::is_null));
        true
    }

    fn finish(&self) -> Result<Datum> {
        Ok(Int(self.rows))
    }

    fn bytes(&self) -> usize {
        size_of::<Count>()
    }
}

/// Sums whole numbers.
struct Whole {
    sum: i128,
    count: i64,
    finish: fn(i128, i64) -> Result<Datum>,
}

fn whole(finish: fn(i128, i64) -> Result<Datum>) -> Box<dyn Accumulator> {
    Box::new(Whole { sum: 0, count: 0, finish })
}

fn mean(sum: i128, count: i64) -> Result<Datum> {
    Numeric::from_i128(sum).div(&Numeric::from_i64(count)).map(make_numeric)
}

impl Accumulator for Whole {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if !arguments[0].is_null() {
            self.sum += i128::from(int(&arguments[0]));
            self.count += 1;
        }
        Ok(())
    }

    fn remove(&mut self, arguments: &[Datum]) -> bool {
        if !arguments[0].is_null() {
            self.sum -= i128::from(int(&arguments[0]));
            self.count -= 1;
        }
        true
    }

    fn finish(&self) -> Result<Datum> {
        if self.count == 0 { Ok(Null) } else { (self.finish)(self.sum, self.count) }
    }

    fn bytes(&self) -> usize {
        size_of::<Whole>()
    }
}

/// Sums numerics.
struct Decimal {
    sum: Option<Numeric>,
    count: i64,
    /// The most digits behind the point of a value, which the sum has too, and how many values have so many.
    scale: (u16, i64),
    finish: fn(&Numeric, i64) -> Result<Numeric>,
}

fn decimal(finish: fn(&Numeric, i64) -> Result<Numeric>) -> Box<dyn Accumulator> {
    Box::new(Decimal { sum: None, count: 0, scale: (0, 0), finish })
}

impl Accumulator for Decimal {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if !arguments[0].is_null() {
            let next = numeric(&arguments[0]);
            self.sum = Some(self.sum.as_ref().map_or_else(|| next.clone(), |sum| sum.add(next)));
            self.count += 1;
            match next.scale().cmp(&self.scale.0) {
                Ordering::Greater => self.scale = (next.scale(), 1),
                Ordering::Equal => self.scale.1 += 1,
                Ordering::Less => {}
            }
        }
        Ok(())
    }

    fn remove(&mut self, arguments: &[Datum]) -> bool {
        if arguments[0].is_null() {
            return true;
        }
        let next = numeric(&arguments[0]);
        if self.count == 1 {
            (self.sum, self.count, self.scale) = (None, 0, (0, 0));
            return true;
        }
        // The sum keeps the digits of the values that are left, and what is infinite cannot be taken away.
        let is_last = next.scale() == self.scale.0 && self.scale.1 == 1;
        let Some(sum) = self.sum.as_ref().filter(|sum| !is_last && sum.is_finite() && next.is_finite()) else {
            return false;
        };
        (self.sum, self.count) = (Some(sum.sub(next)), self.count - 1);
        self.scale.1 -= i64::from(next.scale() == self.scale.0);
        true
    }

    fn finish(&self) -> Result<Datum> {
        self.sum.as_ref().map_or(Ok(Null), |sum| (self.finish)(sum, self.count).map(make_numeric))
    }

    fn bytes(&self) -> usize {
        size_of::<Decimal>() + 64
    }
}

/// Combines one value with the next one.
struct Fold {
    value: Datum,
    combine: fn(&Datum, &Datum) -> Result<Datum>,
}

fn fold(combine: fn(&Datum, &Datum) -> Result<Datum>) -> Box<dyn Accumulator> {
    Box::new(Fold { value: Null, combine })
}

impl Accumulator for Fold {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if self.value.is_null() {
            self.value = arguments[0].clone();
        } else if !arguments[0].is_null() {
            self.value = (self.combine)(&self.value, &arguments[0])?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(self.value.clone())
    }

    fn bytes(&self) -> usize {
        size_of::<Fold>()
    }
}

/// Keeps the least or the greatest value.
struct Extreme {
    value: Datum,
    is_least: bool,
}

fn extreme(is_least: bool) -> Box<dyn Accumulator> {
    Box::new(Extreme { value: Null, is_least })
}

impl Accumulator for Extreme {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        let next = &arguments[0];
        if next.is_null() {
            return Ok(());
        }
        if self.value.is_null() || (*next < self.value) == self.is_least && *next != self.value {
            self.value = next.clone();
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(self.value.clone())
    }

    fn bytes(&self) -> usize {
        size_of::<Extreme>() + if let Datum::Text(text) = &self.value { text.len() } else { 0 }
    }
}

/// What is asked of floats.
#[derive(Clone, Copy)]
enum Statistic {
    Sum,
    SingleSum,
    Mean,
    Variance { is_sample: bool, is_root: bool },
}

/// Sums floats and the squares of their distances from the mean (Youngs and Cramer, 1971).
struct Moments {
    statistic: Statistic,
    count: f64,
    sum: f64,
    squares: f64,
}

fn moments(statistic: Statistic) -> Box<dyn Accumulator> {
    Box::new(Moments { statistic, count: 0.0, sum: 0.0, squares: 0.0 })
}

impl Accumulator for Moments {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if arguments[0].is_null() {
            return Ok(());
        }
        let next = float(&arguments[0]);
        let before = self.sum;
        self.count += 1.0;
        self.sum += next;
        if matches!(self.statistic, Statistic::SingleSum) {
            self.sum = f64::from(self.sum as f32);
        }
        if self.sum.is_infinite() && before.is_finite() && next.is_finite() {
            return super::operator::checked(self.sum, false, true).map(|_| ());
        }
        if self.count > 1.0 {
            let distance = next * self.count - self.sum;
            self.squares += distance * distance / (self.count * (self.count - 1.0));
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        if self.count == 0.0 {
            return Ok(Null);
        }
        Ok(match self.statistic {
            Statistic::Sum | Statistic::SingleSum => Float(self.sum),
            Statistic::Mean => Float(self.sum / self.count),
            Statistic::Variance { is_sample: true, .. } if self.count < 2.0 => Null,
            Statistic::Variance { is_sample, is_root } => {
                let variance = self.squares / (self.count - f64::from(u8::from(is_sample)));
                Float(if is_root { variance.sqrt() } else { variance })
            }
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Moments>()
    }
}

/// Sums numerics and their squares.
struct Spread {
    count: i64,
    sum: Numeric,
    squares: Numeric,
    is_sample: bool,
    is_root: bool,
}

fn spread(is_sample: bool, is_root: bool) -> Box<dyn Accumulator> {
    let zero = Numeric::from_i64(0);
    Box::new(Spread { count: 0, sum: zero.clone(), squares: zero, is_sample, is_root })
}

impl Accumulator for Spread {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if !arguments[0].is_null() {
            let next = numeric(&arguments[0]);
            self.sum = self.sum.add(next);
            self.squares = self.squares.add(&next.mul(next));
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        if self.count < 1 + i64::from(self.is_sample) {
            return Ok(Null);
        }
        let count = Numeric::from_i64(self.count);
        let distance = count.mul(&self.squares).sub(&self.sum.mul(&self.sum));
        if distance.sign() <= 0 && !distance.is_nan() {
            return Ok(make_numeric(Numeric::from_i64(0)));
        }
        let divisor = count.mul(&Numeric::from_i64(self.count - i64::from(self.is_sample)));
        let variance = distance.div(&divisor)?;
        Ok(make_numeric(if self.is_root { variance.sqrt_of_same_scale() } else { variance }))
    }

    fn bytes(&self) -> usize {
        size_of::<Spread>() + 128
    }
}

/// The mean of intervals.
#[derive(Default)]
struct MeanInterval {
    sum: Interval,
    count: i64,
}

impl Accumulator for MeanInterval {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if !arguments[0].is_null() {
            self.sum = self.sum.add(&interval(&arguments[0]))?;
            self.count += 1;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        if self.count == 0 { Ok(Null) } else { self.sum.div(self.count as f64).map(Datum::Interval) }
    }

    fn bytes(&self) -> usize {
        size_of::<MeanInterval>()
    }
}

/// Joins texts or bytes with separators; that of the first row is not used.
struct Joined {
    bytes: Option<Vec<u8>>,
    is_text: bool,
}

impl Accumulator for Joined {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        fn content(datum: &Datum) -> &[u8] {
            match datum {
                Datum::Text(text) => text.as_bytes(),
                Datum::Bytes(bytes) => bytes,
                _ => &[],
            }
        }
        if arguments[0].is_null() {
            return Ok(());
        }
        match &mut self.bytes {
            None => self.bytes = Some(content(&arguments[0]).to_vec()),
            Some(bytes) => {
                let (separator, next) = (content(&arguments[1]), content(&arguments[0]));
                super::bound::fits(bytes.len() + separator.len() + next.len())?;
                bytes.extend_from_slice(separator);
                bytes.extend_from_slice(next);
            }
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(match &self.bytes {
            None => Null,
            Some(bytes) if self.is_text => Datum::text(String::from_utf8_lossy(bytes)),
            Some(bytes) => Datum::Bytes(bytes.as_slice().into()),
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Joined>() + self.bytes.as_ref().map_or(0, Vec::capacity)
    }
}

/// Collects values.
struct List {
    values: Vec<Datum>,
    /// What they take.
    bytes: usize,
}

impl Accumulator for List {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        self.bytes += row_bytes(&arguments[..1]);
        self.values.push(arguments[0].clone());
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        Ok(if self.values.is_empty() { Null } else { Datum::Array(self.values.as_slice().into()) })
    }

    fn bytes(&self) -> usize {
        size_of::<List>() + self.bytes
    }
}

/// Collects values as JSON text.
struct JsonList {
    types: Vec<Type>,
    settings: Settings,
    is_binary: bool,
    is_object: bool,
    out: String,
}

fn json(types: &[Type], settings: &Settings, is_binary: bool, is_object: bool) -> Box<dyn Accumulator> {
    let (types, settings) = (types.to_vec(), settings.clone());
    Box::new(JsonList { types, settings, is_binary, is_object, out: String::new() })
}

impl Accumulator for JsonList {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if !self.out.is_empty() {
            let is_nested = matches!(arguments, [Datum::Array(_) | Datum::Record(_)]);
            self.out.push_str(if is_nested { ", \n " } else { ", " });
        }
        if self.is_object {
            super::json_build::push_key(&arguments[0], self.types[0], &self.settings, &mut self.out)?;
            self.out.push_str(" : ");
        }
        let (value, ty) = (&arguments[arguments.len() - 1], self.types[self.types.len() - 1]);
        super::json_build::push_json(value, ty.into(), &self.settings, &mut self.out)
    }

    fn finish(&self) -> Result<Datum> {
        if self.out.is_empty() {
            return Ok(Null);
        }
        let out = if self.is_object { format!("{{ {} }}", self.out) } else { format!("[{}]", self.out) };
        super::json_build::made(out, self.is_binary)
    }

    fn bytes(&self) -> usize {
        size_of::<JsonList>() + self.out.capacity()
    }
}

//! Aggregates of pairs of floats: regression, correlation and covariance.
//!
//! Invariant: a pair with a NULL is no input. The first argument is the dependent one, `y`.

use super::aggregate::Accumulator;
use super::argument::float;
use super::operator::checked;
use crate::datum::Datum;
use crate::datum::Datum::{Float, Int, Null};
use crate::error::Result;

/// What is asked of the pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Regression {
    Count,
    MeanX,
    MeanY,
    SquaresX,
    SquaresY,
    Products,
    Slope,
    Intercept,
    Determination,
    Correlation,
    Covariance { is_sample: bool },
}

/// Sums, and sums of squares and products of the distances from the means (Youngs and Cramer, 1971).
struct Pairs {
    asked: Regression,
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

/// The state of a new group.
pub(super) fn pairs(asked: Regression) -> Box<dyn Accumulator> {
    Box::new(Pairs { asked, count: 0.0, x: 0.0, y: 0.0, xx: 0.0, yy: 0.0, xy: 0.0 })
}

impl Accumulator for Pairs {
    fn add(&mut self, arguments: &[Datum]) -> Result<()> {
        if arguments.iter().any(Datum::is_null) {
            return Ok(());
        }
        let (y, x) = (float(&arguments[0]), float(&arguments[1]));
        let before = self.count;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if before > 0.0 {
            let (from_x, from_y) = (x * self.count - self.x, y * self.count - self.y);
            let scale = 1.0 / (self.count * before);
            self.xx += from_x * from_x * scale;
            self.yy += from_y * from_y * scale;
            self.xy += from_x * from_y * scale;
        }
        let is_input_finite = x.is_finite() && y.is_finite();
        for sum in [self.x, self.y, self.xx, self.yy, self.xy] {
            checked(sum, !is_input_finite || !self.x.is_finite() || !self.y.is_finite(), true)?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Datum> {
        if self.asked == Regression::Count {
            return Ok(Int(self.count as i64));
        }
        if self.count < 1.0 {
            return Ok(Null);
        }
        Ok(match self.asked {
            Regression::Count => Null,
            Regression::MeanX => Float(self.x / self.count),
            Regression::MeanY => Float(self.y / self.count),
            Regression::SquaresX => Float(self.xx),
            Regression::SquaresY => Float(self.yy),
            Regression::Products => Float(self.xy),
            Regression::Covariance { is_sample: true } if self.count < 2.0 => Null,
            Regression::Covariance { is_sample } => Float(self.xy / (self.count - f64::from(u8::from(is_sample)))),
            // All `x` are the same: no line goes through the points.
            _ if self.xx == 0.0 => Null,
            Regression::Slope => Float(self.xy / self.xx),
            Regression::Intercept => Float((self.y - self.x * self.xy / self.xx) / self.count),
            Regression::Determination if self.yy == 0.0 => Float(1.0),
            Regression::Determination => Float(self.xy * self.xy / (self.xx * self.yy)),
            Regression::Correlation if self.yy == 0.0 => Null,
            Regression::Correlation => Float(self.xy / (self.xx * self.yy).sqrt()),
        })
    }

    fn bytes(&self) -> usize {
        size_of::<Pairs>()
    }
}

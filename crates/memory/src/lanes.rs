//! What is done to whole vectors of stamps, one lane per log stream: the element-wise maximum, comparisons, and which lanes are
//! above a floor (Taurus, section 4.2).
//!
//! Invariants:
//! - Every instruction set gives the same results; which one is used is chosen when the program runs.
//! - A value of [`Isa`] exists only where the processor has the instructions.
//! - Lanes are stamps: below 2^63, so that signed comparisons order them.
//!
//! Short vectors are handled one lane after the other: to load and store wider registers costs as much.

use crate::Stamp;

/// As many lanes as a vector has at most, so that a word has a bit for each.
pub const LANES_MAX: usize = 64;

/// Vectors of fewer lanes are handled one lane after the other.
pub(crate) const WIDE_LANES_MIN: usize = 8;

/// The instructions that are used for vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2,
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512,
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    Neon,
}

impl Isa {
    /// No vector instructions.
    pub const SCALAR: Isa = Isa(Kind::Scalar);

    /// The widest instructions that the processor has.
    #[inline]
    pub fn best() -> Isa {
        Isa::all().next().expect("there are always scalar instructions")
    }

    /// All that the processor has, the widest first.
    pub fn all() -> impl Iterator<Item = Isa> {
        let found = [
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            std::is_x86_feature_detected!("avx512f").then_some(Kind::Avx512),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            std::is_x86_feature_detected!("avx2").then_some(Kind::Avx2),
            #[cfg(all(target_arch = "aarch64", not(miri)))]
            std::arch::is_aarch64_feature_detected!("neon").then_some(Kind::Neon),
            Some(Kind::Scalar),
        ];
        found.into_iter().flatten().map(Isa)
    }

    /// What they are called.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar => "scalar",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kind::Avx2 => "avx2",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kind::Avx512 => "avx512",
            #[cfg(all(target_arch = "aarch64", not(miri)))]
            Kind::Neon => "neon",
        }
    }

    /// Raises every lane of `vector` to that of `other`: `ElemWiseMax`.
    ///
    /// # Panics
    /// Where they have not the same number of lanes.
    #[inline]
    pub fn raise(self, vector: &mut [u64], other: &[u64]) {
        assert_eq!(vector.len(), other.len(), "vectors of one log");
        match self.wide(vector.len()) {
            Kind::Scalar => vector.iter_mut().zip(other).for_each(|(lane, other)| *lane = (*lane).max(*other)),
            // SAFETY: the processor has the instructions, and both have as many lanes.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kind::Avx2 => unsafe { x86::raise_avx2(vector, other) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kind::Avx512 => unsafe { x86::raise_avx512(vector, other) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "aarch64", not(miri)))]
            Kind::Neon => unsafe { arm::raise(vector, other) },
        }
    }

    /// Returns which lanes of `vector` are above `floor`, a bit for each.
    ///
    /// # Panics
    /// Where it has more than [`LANES_MAX`] lanes.
    #[inline]
    pub fn above(self, vector: &[u64], floor: Stamp) -> u64 {
        assert!(vector.len() <= LANES_MAX, "{} lanes", vector.len());
        match self.wide(vector.len()) {
            Kind::Scalar => bits(vector.iter().map(|lane| *lane > floor.0)),
            // SAFETY: the processor has the instructions.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kind::Avx2 => unsafe { x86::above_avx2(vector, floor.0) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kind::Avx512 => unsafe { x86::above_avx512(vector, floor.0) },
            // SAFETY: as above.
            #[cfg(all(target_arch = "aarch64", not(miri)))]
            Kind::Neon => unsafe { arm::above(vector, floor.0) },
        }
    }

    #[inline]
    fn wide(self, lanes: usize) -> Kind {
        if lanes < WIDE_LANES_MIN { Kind::Scalar } else { self.0 }
    }
}

/// A word with these bits, the lowest first.
#[inline]
fn bits(bits: impl Iterator<Item = bool>) -> u64 {
    bits.enumerate().fold(0, |word, (at, bit)| word | u64::from(bit) << at)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_blendv_epi8, _mm256_castsi256_pd, _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_movemask_pd,
        _mm256_set1_epi64x, _mm256_storeu_si256, _mm512_cmpgt_epu64_mask, _mm512_loadu_epi64, _mm512_max_epu64,
        _mm512_set1_epi64, _mm512_storeu_epi64,
    };

    use super::bits;

    /// # Safety
    /// The processor has AVX2, and `other` as many lanes.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn raise_avx2(vector: &mut [u64], other: &[u64]) {
        let (wide, rest) = vector.as_chunks_mut::<4>();
        let (other_wide, other_rest) = other.as_chunks::<4>();
        for (lanes, other) in wide.iter_mut().zip(other_wide) {
            // SAFETY: each chunk has the 32 bytes that are read and written.
            unsafe {
                let place = lanes.as_mut_ptr().cast::<__m256i>();
                let (a, b) = (_mm256_loadu_si256(place), _mm256_loadu_si256(other.as_ptr().cast()));
                _mm256_storeu_si256(place, _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(b, a)));
            }
        }
        rest.iter_mut().zip(other_rest).for_each(|(lane, other)| *lane = (*lane).max(*other));
    }

    /// # Safety
    /// The processor has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn above_avx2(vector: &[u64], floor: u64) -> u64 {
        let (wide, rest) = vector.as_chunks::<4>();
        let floors = _mm256_set1_epi64x(floor as i64);
        let mut found = 0;
        for (at, lanes) in wide.iter().enumerate() {
            // SAFETY: the chunk has the 32 bytes that are read.
            let lanes = unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) };
            let mask = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(lanes, floors)));
            found |= (mask as u64) << (4 * at);
        }
        let first = 4 * wide.len();
        if rest.is_empty() { found } else { found | bits(rest.iter().map(|lane| *lane > floor)) << first }
    }

    /// # Safety
    /// The processor has AVX-512F, and `other` as many lanes.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn raise_avx512(vector: &mut [u64], other: &[u64]) {
        let (wide, rest) = vector.as_chunks_mut::<8>();
        let (other_wide, other_rest) = other.as_chunks::<8>();
        for (lanes, other) in wide.iter_mut().zip(other_wide) {
            // SAFETY: each chunk has the 64 bytes that are read and written.
            unsafe {
                let place = lanes.as_mut_ptr().cast();
                let (a, b) = (_mm512_loadu_epi64(place), _mm512_loadu_epi64(other.as_ptr().cast()));
                _mm512_storeu_epi64(place, _mm512_max_epu64(a, b));
            }
        }
        rest.iter_mut().zip(other_rest).for_each(|(lane, other)| *lane = (*lane).max(*other));
    }

    /// # Safety
    /// The processor has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn above_avx512(vector: &[u64], floor: u64) -> u64 {
        let (wide, rest) = vector.as_chunks::<8>();
        let floors = _mm512_set1_epi64(floor as i64);
        let mut found = 0;
        for (at, lanes) in wide.iter().enumerate() {
            // SAFETY: the chunk has the 64 bytes that are read.
            let lanes = unsafe { _mm512_loadu_epi64(lanes.as_ptr().cast()) };
            found |= u64::from(_mm512_cmpgt_epu64_mask(lanes, floors)) << (8 * at);
        }
        let first = 8 * wide.len();
        if rest.is_empty() { found } else { found | bits(rest.iter().map(|lane| *lane > floor)) << first }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod arm {
    use std::arch::aarch64::{vbslq_u64, vcgtq_u64, vdupq_n_u64, vgetq_lane_u64, vld1q_u64, vst1q_u64};

    use super::bits;

    /// # Safety
    /// The processor has NEON, and `other` as many lanes.
    #[target_feature(enable = "neon")]
    pub(super) unsafe fn raise(vector: &mut [u64], other: &[u64]) {
        let (wide, rest) = vector.as_chunks_mut::<2>();
        let (other_wide, other_rest) = other.as_chunks::<2>();
        for (lanes, other) in wide.iter_mut().zip(other_wide) {
            // SAFETY: each chunk has the 16 bytes that are read and written.
            unsafe {
                let (a, b) = (vld1q_u64(lanes.as_ptr()), vld1q_u64(other.as_ptr()));
                vst1q_u64(lanes.as_mut_ptr(), vbslq_u64(vcgtq_u64(b, a), b, a));
            }
        }
        rest.iter_mut().zip(other_rest).for_each(|(lane, other)| *lane = (*lane).max(*other));
    }

    /// # Safety
    /// The processor has NEON.
    #[target_feature(enable = "neon")]
    pub(super) unsafe fn above(vector: &[u64], floor: u64) -> u64 {
        let (wide, rest) = vector.as_chunks::<2>();
        let floors = vdupq_n_u64(floor);
        let mut found = 0;
        for (at, lanes) in wide.iter().enumerate() {
            // SAFETY: the chunk has the 16 bytes that are read.
            let mask = vcgtq_u64(unsafe { vld1q_u64(lanes.as_ptr()) }, floors);
            found |= (vgetq_lane_u64::<0>(mask) & 1 | vgetq_lane_u64::<1>(mask) & 2) << (2 * at);
        }
        let first = 2 * wide.len();
        if rest.is_empty() { found } else { found | bits(rest.iter().map(|lane| *lane > floor)) << first }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Vectors of every length, with lanes that are equal, near to each other, and as great as stamps are.
    #[test]
    fn every_instruction_set_gives_the_same() {
        let mut rng = fastrand::Rng::with_seed(7);
        let values = [0, 1, 2, 1 << 31, 1 << 32, (1 << 32) + 1, Stamp::MAX.0 - 1, Stamp::MAX.0];
        for lanes in 0..=LANES_MAX {
            for _ in 0..50 {
                let mut vector = || (0..lanes).map(|_| values[rng.usize(..values.len())]).collect::<Vec<_>>();
                let (one, other) = (vector(), vector());
                let floor = Stamp(values[rng.usize(..values.len())]);
                let greater: Vec<_> = one.iter().zip(&other).map(|(one, other)| *one.max(other)).collect();
                for isa in Isa::all() {
                    let mut raised = one.clone();
                    isa.raise(&mut raised, &other);
                    assert_eq!(raised, greater, "{isa:?}");
                    for (at, lane) in one.iter().enumerate() {
                        assert_eq!(isa.above(&one, floor) >> at & 1 == 1, *lane > floor.0, "{isa:?} {one:?} {floor}");
                    }
                    assert_eq!(isa.above(&one, floor).checked_shr(lanes as u32).unwrap_or(0), 0, "{isa:?}");
                }
            }
        }
    }

    #[test]
    fn the_widest_instructions_come_first() {
        let all: Vec<_> = Isa::all().collect();
        assert_eq!((all[0], all.last()), (Isa::best(), Some(&Isa::SCALAR)));
        let mut names: Vec<_> = all.iter().map(|isa| isa.name()).collect();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    #[should_panic(expected = "vectors of one log")]
    fn vectors_of_two_logs_are_refused() {
        Isa::best().raise(&mut [1, 2], &[1]);
    }
}

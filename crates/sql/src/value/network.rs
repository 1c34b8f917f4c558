//! `inet`, `cidr` and `macaddr`: addresses of hosts and networks, and of network cards.
//!
//! Invariants:
//! - The addresses of two [`Network`]s order by family, then by the bits of the shorter prefix, then by the lengths of the
//!   prefixes, then by all bits, as PostgreSQL orders them. The bytes that are stored compare in the same way.
//! - A `cidr` has no bits set to the right of its prefix.

use std::cmp::Ordering;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::text::{invalid_syntax, trim};
use crate::error::{Result, SqlError, SqlState};
use crate::types::Type;

/// What the stored form of an address begins with.
const STORED_V4: u8 = 4;
const STORED_V6: u8 = 6;
/// The families in the binary format of the protocol.
const SENT_V4: u8 = 2;
const SENT_V6: u8 = 3;
/// So many groups of 16 bits has an address of IPv6.
const GROUPS: usize = 8;

/// An address with the length of the prefix that is its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    length: u8,
}

/// The address as a number whose highest bits are those of the address.
fn high_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The highest bits, so many of them.
fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl Ord for Network {
    fn cmp(&self, other: &Network) -> Ordering {
        let common = mask(self.length.min(other.length));
        let (own, others) = (high_bits(self.address), high_bits(other.address));
        let of_family = self.is_v6().cmp(&other.is_v6());
        of_family
            .then_with(|| (own & common).cmp(&(others & common)))
            .then_with(|| self.length.cmp(&other.length))
            .then_with(|| own.cmp(&others))
    }
}

impl PartialOrd for Network {
    fn partial_cmp(&self, other: &Network) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Network {
    /// Returns the address of a host.
    pub fn host(address: IpAddr) -> Network {
        Network { address, length: if address.is_ipv6() { 128 } else { 32 } }
    }

    fn with_bits(self, bits: u128, length: u8) -> Network {
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits((bits >> 96) as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        Network { address, length }
    }

    fn is_v6(self) -> bool {
        self.address.is_ipv6()
    }

    /// Returns 4 or 6.
    pub fn family(self) -> u8 {
        if self.is_v6() { 6 } else { 4 }
    }

    /// Returns the length of the prefix.
    pub fn length(self) -> u8 {
        self.length
    }

    /// Returns the greatest length of a prefix.
    pub fn length_max(self) -> u8 {
        if self.is_v6() { 128 } else { 32 }
    }

    fn bits(self) -> u128 {
        high_bits(self.address)
    }

    /// The bits that the family has.
    fn all(self) -> u128 {
        mask(self.length_max())
    }

    /// Returns the network: no bits behind the prefix.
    pub fn network(self) -> Network {
        self.with_bits(self.bits() & mask(self.length), self.length)
    }

    /// Returns the last address of the network.
    pub fn broadcast(self) -> Network {
        self.with_bits(self.bits() | (self.all() & !mask(self.length)), self.length)
    }

    /// Returns the mask of the prefix, or with `is_of_host` that of what is behind it, as an address.
    pub fn mask(self, is_of_host: bool) -> Network {
        let bits = mask(self.length);
        self.with_bits(if is_of_host { self.all() & !bits } else { bits }, self.length_max())
    }

    /// Returns the same address in a network with a prefix of another length; -1: the greatest.
    ///
    /// # Errors
    /// 22023.
    pub fn with_length(self, length: i64) -> Result<Network> {
        let length = if length == -1 { i64::from(self.length_max()) } else { length };
        match u8::try_from(length) {
            Ok(length) if length <= self.length_max() => Ok(Network { length, ..self }),
            _ => Err(SqlError::new(SqlState::InvalidParameterValue, format!("invalid mask length: {length}"))),
        }
    }

    /// Returns the smallest network that both are in.
    ///
    /// # Errors
    /// 22023 where they are of different families.
    pub fn merge(self, other: Network) -> Result<Network> {
        if self.family() != other.family() {
            let message = "cannot merge addresses from different families";
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
        let shared = (self.bits() ^ other.bits()).leading_zeros();
        let shared = u8::try_from(shared).unwrap_or(u8::MAX);
        let length = self.length.min(other.length).min(shared);
        Ok(self.with_bits(self.bits() & mask(length), length))
    }

    /// Whether the network is within another one; `may_be_same`: or the same.
    pub fn is_within(self, other: Network, may_be_same: bool) -> bool {
        let is_longer = if may_be_same { self.length >= other.length } else { self.length > other.length };
        is_longer && self.overlaps(other)
    }

    /// Whether one of two networks is within the other one.
    pub fn overlaps(self, other: Network) -> bool {
        let common = mask(self.length.min(other.length));
        self.family() == other.family() && (self.bits() ^ other.bits()) & common == 0
    }

    /// Returns all bits of the address the other way round.
    pub fn inverted(self) -> Network {
        self.with_bits(!self.bits() & self.all(), self.length)
    }

    /// Returns the bits of two addresses put together.
    ///
    /// # Errors
    /// 22023 where they are of different families.
    pub fn combined(self, other: Network, what: &str, combine: fn(u128, u128) -> u128) -> Result<Network> {
        if self.family() != other.family() {
            let message = format!("cannot {what} inet values of different sizes");
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
        Ok(self.with_bits(combine(self.bits(), other.bits()), self.length.max(other.length)))
    }

    /// The address as a number.
    fn number(self) -> u128 {
        self.bits() >> (128 - u32::from(self.length_max()))
    }

    /// Returns an address that is so many further.
    ///
    /// # Errors
    /// 22003.
    pub fn plus(self, count: i64) -> Result<Network> {
        let shift = 128 - u32::from(self.length_max());
        let moved = match u128::try_from(count) {
            Ok(count) => self.number().checked_add(count),
            Err(_) => self.number().checked_sub(count.unsigned_abs().into()),
        };
        let moved = moved.filter(|moved| moved.leading_zeros() >= shift).ok_or_else(out_of_range)?;
        Ok(self.with_bits(moved << shift, self.length))
    }

    /// Returns how many addresses lie between two.
    ///
    /// # Errors
    /// 22023 where they are of different families, 22003 where 64 bits do not hold the number.
    pub fn minus(self, other: Network) -> Result<i64> {
        if self.family() != other.family() {
            let message = "cannot subtract inet values of different sizes";
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
        let between = i128::try_from(self.number().abs_diff(other.number())).map_err(|_| out_of_range())?;
        let between = if self.number() < other.number() { -between } else { between };
        i64::try_from(between).map_err(|_| out_of_range())
    }
}

fn out_of_range() -> SqlError {
    SqlError::new(SqlState::NumericValueOutOfRange, "result is out of range")
}

/// Text.
impl Network {
    /// Reads an `inet`, or a `cidr`.
    ///
    /// # Errors
    /// 22P02.
    pub fn parse(text: &str, ty: Type) -> Result<Network> {
        let read = match (text.contains(':'), ty) {
            (true, _) => parse_v6(text),
            (false, Type::Cidr) => parse_cidr_v4(text),
            (false, _) => parse_inet_v4(text),
        };
        let network = read.ok_or_else(|| invalid_syntax(ty, text))?;
        if ty == Type::Cidr && network != network.network() {
            return Err(SqlError::new(SqlState::InvalidTextRepresentation, format!("invalid cidr value: \"{text}\""))
                .with_detail("Value has bits set to right of mask."));
        }
        Ok(network)
    }

    /// Appends the address without the length of its prefix.
    pub fn push_host(self, out: &mut String) {
        match self.address {
            IpAddr::V4(v4) => write!(out, "{v4}").expect("a string takes all"),
            IpAddr::V6(v6) => push_v6(v6, out),
        }
    }

    /// Appends the address, with the length of its prefix where that is wanted `always` or the prefix is not all of it.
    pub fn push(self, always: bool, out: &mut String) {
        self.push_host(out);
        if always || self.length != self.length_max() {
            write!(out, "/{}", self.length).expect("a string takes all");
        }
    }

    /// Appends a network without the bytes that are behind its prefix.
    pub fn push_short(self, out: &mut String) {
        let network = self.network();
        match network.address {
            IpAddr::V4(v4) => {
                let count = usize::from(network.length).div_ceil(8).max(1);
                let octets: Vec<String> = v4.octets()[..count].iter().map(u8::to_string).collect();
                out.push_str(&octets.join("."));
            }
            IpAddr::V6(v6) => push_short_v6(v6.segments(), network.length, out),
        }
        write!(out, "/{}", network.length).expect("a string takes all");
    }
}

/// Reads decimal digits up to a bound, without a sign.
fn number(digits: &str, max: u32) -> Option<u8> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // What is too long has leading zeros, or is too large.
    let digits = digits.trim_start_matches('0');
    let number = if digits.is_empty() { 0 } else { digits.get(..4).unwrap_or(digits).parse().ok()? };
    (is_number && number <= max).then(|| u8::try_from(number).ok()).flatten()
}

/// Splits the length of the prefix off.
fn split(text: &str, max: u32) -> Option<(&str, Option<u8>)> {
    match text.split_once('/') {
        Some((address, length)) => Some((address, Some(number(length, max)?))),
        None => Some((text, None)),
    }
}

fn octets(parts: &[&str]) -> Option<Vec<u8>> {
    if parts.len() > 4 { None } else { parts.iter().map(|part| number(part, 255)).collect() }
}

fn of_octets(octets: &[u8], length: u8) -> Network {
    let mut all = [0; 4];
    all[..octets.len()].copy_from_slice(octets);
    Network { address: IpAddr::from(all), length }
}

/// An address of which the end may be missing where the length of the prefix is there: `10.1/16`.
fn parse_inet_v4(text: &str) -> Option<Network> {
    let (address, length) = split(text, 32)?;
    let mut parts: Vec<&str> = address.split('.').collect();
    // PostgreSQL reads a period at the end.
    if parts.len() > 1 && parts.last() == Some(&"") {
        parts.pop();
    }
    let octets = octets(&parts)?;
    let length = match length {
        Some(length) if usize::from(length) / 8 <= octets.len() => length,
        None if octets.len() == 4 => 32,
        _ => return None,
    };
    Some(of_octets(&octets, length))
}

/// A network of which the end may be missing, and the length of the prefix: then its class tells that.
fn parse_cidr_v4(text: &str) -> Option<Network> {
    let (address, length) = split(text, 32)?;
    let octets = match address.strip_prefix("0x").or_else(|| address.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits)?,
        None => octets(&address.split('.').collect::<Vec<_>>())?,
    };
    let of_class = |first: u8| match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    let given = u8::try_from(octets.len() * 8).ok()?;
    let first = *octets.first()?;
    let length = length.unwrap_or_else(|| match of_class(first).max(given) {
        8 if first == 224 => 4,
        length => length,
    });
    Some(of_octets(&octets, length))
}

/// Reads up to 8 hexadecimal digits.
fn hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<u8>> = digits.chars().map(|c| c.to_digit(16).and_then(|n| u8::try_from(n).ok())).collect();
    let nibbles = nibbles.filter(|nibbles| (1..=8).contains(&nibbles.len()))?;
    Some(nibbles.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)).collect())
}

fn parse_v6(text: &str) -> Option<Network> {
    let (address, length) = match text.split_once('/') {
        // No zeros lead.
        Some((_, length)) if length.len() > 1 && length.starts_with('0') => return None,
        _ => split(text, 128)?,
    };
    Some(Network { address: IpAddr::V6(address.parse().ok()?), length: length.unwrap_or(128) })
}

/// The longest run of groups that are zero, the first one of several: where it begins, and how many there are.
fn zeros(groups: &[u16]) -> (usize, usize) {
    let mut best = (0, 0);
    let mut start = 0;
    for (at, group) in groups.iter().enumerate() {
        if *group != 0 {
            start = at + 1;
        } else if at + 1 - start > best.1 {
            best = (start, at + 1 - start);
        }
    }
    best
}

fn push_v6(address: Ipv6Addr, out: &mut String) {
    let groups = address.segments();
    let [.., a, b, c, d] = address.octets();
    match zeros(&groups) {
        (0, 6) => write!(out, "::{a}.{b}.{c}.{d}"),
        (0, 5) if groups[5] == 0xffff => write!(out, "::ffff:{a}.{b}.{c}.{d}"),
        (_, 0 | 1) => {
            push_groups(&groups, out);
            Ok(())
        }
        (from, count) => {
            push_groups(&groups[..from], out);
            out.push_str("::");
            push_groups(&groups[from + count..], out);
            Ok(())
        }
    }
    .expect("a string takes all");
}

fn push_groups(groups: &[u16], out: &mut String) {
    let groups: Vec<String> = groups.iter().map(|group| format!("{group:x}")).collect();
    out.push_str(&groups.join(":"));
}

/// The groups that a prefix reaches into, two at least.
fn push_short_v6(groups: [u16; GROUPS], length: u8, out: &mut String) {
    if length == 0 {
        return out.push_str("::");
    }
    let shown = usize::from(length).div_ceil(16).max(2);
    let (from, count) = zeros(&groups[..shown]);
    let is_v4 = from == 0 && count != shown && (count == 6 || count == 5 && groups[5] == 0xffff);
    if is_v4 && shown > 6 {
        let octets: Vec<u8> = groups[6..].iter().flat_map(|group| group.to_be_bytes()).collect();
        // The last one may be left out.
        let last = if shown == 8 && length > 120 { 4 } else { (shown - 6) * 2 - usize::from(shown == 8) };
        let octets: Vec<String> = octets[..last].iter().map(u8::to_string).collect();
        out.push_str(if count == 5 { "::ffff:" } else { "::" });
        return out.push_str(&octets.join("."));
    }
    match count {
        0 => push_groups(&groups[..shown], out),
        _ => {
            push_groups(&groups[..from], out);
            out.push_str("::");
            push_groups(&groups[from + count..shown], out);
        }
    }
}

/// Bytes.
impl Network {
    /// Appends the form that is stored: the family, the network, the length of the prefix, and the address where it has bits
    /// behind the prefix.
    pub fn push_stored(self, out: &mut Vec<u8>) {
        out.push(if self.is_v6() { STORED_V6 } else { STORED_V4 });
        self.network().push_octets(out);
        out.push(self.length);
        if self.network() != self {
            self.push_octets(out);
        }
    }

    /// Reads the form that is stored.
    pub fn load(bytes: &[u8]) -> Option<Network> {
        let (family, rest) = bytes.split_first()?;
        let size = match *family {
            STORED_V4 => 4,
            STORED_V6 => 16,
            _ => return None,
        };
        let (network, rest) = rest.split_at_checked(size)?;
        let (length, address) = rest.split_first()?;
        let found = of_bytes(if address.is_empty() { network } else { address }, *length)?;
        let network = of_bytes(network, *length)?;
        (found.network() == network && (address.is_empty() || found != network)).then_some(found)
    }

    fn push_octets(self, out: &mut Vec<u8>) {
        match self.address {
            IpAddr::V4(v4) => out.extend_from_slice(&v4.octets()),
            IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
        }
    }

    /// Appends the binary format of the protocol.
    pub fn push_binary(self, ty: Type, out: &mut Vec<u8>) {
        let (family, size) = if self.is_v6() { (SENT_V6, 16) } else { (SENT_V4, 4) };
        out.extend_from_slice(&[family, self.length, u8::from(ty == Type::Cidr), size]);
        self.push_octets(out);
    }

    /// Reads the binary format of the protocol.
    ///
    /// # Errors
    /// Bytes that are no address, or no network where a `cidr` is asked for.
    pub fn parse_binary(bytes: &[u8], ty: Type) -> Result<Network> {
        let wrong = |what: &str| {
            let message = format!("invalid {what} in external \"{ty}\" value");
            SqlError::new(SqlState::InvalidBinaryRepresentation, message)
        };
        let short = || SqlError::new(SqlState::ProtocolViolation, "insufficient data left in message");
        let [family, length, _, size, address @ ..] = bytes else { return Err(short()) };
        let max = match *family {
            SENT_V4 => 32,
            SENT_V6 => 128,
            _ => return Err(wrong("address family")),
        };
        if *length > max {
            return Err(wrong("bits"));
        }
        if usize::from(*size) * 8 != usize::from(max) {
            return Err(wrong("length"));
        }
        if address.len() < usize::from(*size) {
            return Err(short());
        }
        let network = of_bytes(address, *length)
            .ok_or_else(|| SqlError::new(SqlState::InvalidBinaryRepresentation, "incorrect binary data format"))?;
        if ty == Type::Cidr && network != network.network() {
            let error = SqlError::new(SqlState::InvalidBinaryRepresentation, "invalid external \"cidr\" value");
            return Err(error.with_detail("Value has bits set to right of mask."));
        }
        Ok(network)
    }
}

fn of_bytes(address: &[u8], length: u8) -> Option<Network> {
    let v4 = || Some(IpAddr::from(<[u8; 4]>::try_from(address).ok()?));
    let v6 = || Some(IpAddr::from(<[u8; 16]>::try_from(address).ok()?));
    let address = v4().or_else(v6)?;
    (length <= Network::host(address).length).then_some(Network { address, length })
}

/// Reads a `macaddr`: twelve hexadecimal digits, in groups of one, two or three bytes that colons, hyphens or periods part.
///
/// # Errors
/// 22P02.
pub fn parse_mac(text: &str) -> Result<[u8; 6]> {
    let invalid = || invalid_syntax(Type::MacAddr, text);
    let given = trim(text);
    let separator = given.chars().find(|c| !c.is_ascii_hexdigit());
    let groups: Vec<&str> = match separator {
        Some(sign @ (':' | '-' | '.')) => given.split(sign).collect(),
        Some(_) => return Err(invalid()),
        None => vec![given],
    };
    let has_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let width = match (groups.len(), separator) {
        (6, Some(':' | '-')) => {
            let octet = |digits: &&str| {
                let digits = digits.trim_start_matches('0');
                if digits.len() > 2 { None } else { u8::from_str_radix(&format!("0{digits}"), 16).ok() }
            };
            if !groups.iter().all(|digits| has_digits(digits)) {
                return Err(invalid());
            }
            let octets: Option<Vec<u8>> = groups.iter().map(octet).collect();
            let octets = octets.and_then(|octets| octets.try_into().ok());
            return octets.ok_or_else(|| {
                let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
                SqlError::new(SqlState::NumericValueOutOfRange, message)
            });
        }
        (2, Some(':' | '-')) => 6,
        (3, Some('.' | '-')) => 4,
        (1, None) => 12,
        _ => return Err(invalid()),
    };
    if !groups.iter().all(|digits| has_digits(digits) && digits.len() == width) {
        return Err(invalid());
    }
    let digits = groups.concat();
    let mut octets = [0; 6];
    for (at, octet) in octets.iter_mut().enumerate() {
        *octet = u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).map_err(|_| invalid())?;
    }
    Ok(octets)
}

/// Appends a `macaddr`.
pub fn push_mac(octets: [u8; 6], out: &mut Vec<u8>) {
    let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    out.extend_from_slice(octets.join(":").as_bytes());
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;

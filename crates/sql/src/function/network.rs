//! Functions and operators of addresses.

use super::argument::*;
use super::functions;
use crate::datum::Datum;
use crate::datum::Datum::{Bool, Int, MacAddr, Network};
use crate::value::network;

functions! {
    /// Functions of addresses.
    FUNCTIONS:
    "abbrev" (Inet) -> Text = |_, a| Ok(written(a, |address, out| address.push(false, out)));
    "abbrev" (Cidr) -> Text = |_, a| Ok(written(a, network::Network::push_short));
    "broadcast" (Inet) -> Inet = |_, a| Ok(Network(address(&a[0]).broadcast()));
    "family" (Inet) -> Int4 = |_, a| Ok(Int(address(&a[0]).family().into()));
    "host" (Inet) -> Text = |_, a| Ok(written(a, network::Network::push_host));
    "hostmask" (Inet) -> Inet = |_, a| Ok(Network(address(&a[0]).mask(true)));
    "inet_merge" (Inet, Inet) -> Cidr = |_, a| address(&a[0]).merge(address(&a[1])).map(Network);
    "inet_same_family" (Inet, Inet) -> Bool = |_, a| Ok(Bool(address(&a[0]).family() == address(&a[1]).family()));
    "masklen" (Inet) -> Int4 = |_, a| Ok(Int(address(&a[0]).length().into()));
    "netmask" (Inet) -> Inet = |_, a| Ok(Network(address(&a[0]).mask(false)));
    "network" (Inet) -> Cidr = |_, a| Ok(Network(address(&a[0]).network()));
    "set_masklen" (Inet, Int4) -> Inet = |_, a| address(&a[0]).with_length(int(&a[1])).map(Network);
    "set_masklen" (Cidr, Int4) -> Cidr = |_, a| {
        Ok(Network(address(&a[0]).with_length(int(&a[1]))?.network()))
    };
    "trunc" (MacAddr) -> MacAddr = |_, a| {
        let [x, y, z, ..] = mac(&a[0]);
        Ok(MacAddr([x, y, z, 0, 0, 0]))
    };
}

functions! {
    /// Operators of addresses.
    OPERATORS:
    "<<" (Inet, Inet) -> Bool = |_, a| Ok(Bool(address(&a[0]).is_within(address(&a[1]), false)));
    "<<=" (Inet, Inet) -> Bool = |_, a| Ok(Bool(address(&a[0]).is_within(address(&a[1]), true)));
    ">>" (Inet, Inet) -> Bool = |_, a| Ok(Bool(address(&a[1]).is_within(address(&a[0]), false)));
    ">>=" (Inet, Inet) -> Bool = |_, a| Ok(Bool(address(&a[1]).is_within(address(&a[0]), true)));
    "&&" (Inet, Inet) -> Bool = |_, a| Ok(Bool(address(&a[0]).overlaps(address(&a[1]))));
    "~" (Inet) -> Inet = |_, a| Ok(Network(address(&a[0]).inverted()));
    "&" (Inet, Inet) -> Inet = |_, a| address(&a[0]).combined(address(&a[1]), "AND", |x, y| x & y).map(Network);
    "|" (Inet, Inet) -> Inet = |_, a| address(&a[0]).combined(address(&a[1]), "OR", |x, y| x | y).map(Network);
    "+" (Inet, Int8) -> Inet = |_, a| address(&a[0]).plus(int(&a[1])).map(Network);
    "+" (Int8, Inet) -> Inet = |_, a| address(&a[1]).plus(int(&a[0])).map(Network);
    "-" (Inet, Int8) -> Inet = |_, a| address(&a[0]).plus(int(&a[1]).wrapping_neg()).map(Network);
    "-" (Inet, Inet) -> Int8 = |_, a| address(&a[0]).minus(address(&a[1])).map(Int);
    "~" (MacAddr) -> MacAddr = |_, a| Ok(MacAddr(mac(&a[0]).map(|octet| !octet)));
    "&" (MacAddr, MacAddr) -> MacAddr = |_, a| Ok(combined(a, |x, y| x & y));
    "|" (MacAddr, MacAddr) -> MacAddr = |_, a| Ok(combined(a, |x, y| x | y));
}

fn written(arguments: &[Datum], push: impl Fn(network::Network, &mut String)) -> Datum {
    let mut out = String::new();
    push(address(&arguments[0]), &mut out);
    Datum::text(out)
}

fn combined(arguments: &[Datum], combine: fn(u8, u8) -> u8) -> Datum {
    let (one, two) = (mac(&arguments[0]), mac(&arguments[1]));
    MacAddr(std::array::from_fn(|at| combine(one[at], two[at])))
}

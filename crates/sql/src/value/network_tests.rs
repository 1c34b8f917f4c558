//! Tests of addresses. What they expect is what PostgreSQL 15 does.

use super::*;

fn shown(text: &str, ty: Type) -> String {
    let mut out = String::new();
    match Network::parse(text, ty) {
        Ok(network) => network.push(ty == Type::Cidr, &mut out),
        Err(error) => out.push_str(error.code()),
    }
    out
}

#[test]
fn addresses_are_read_as_postgresql_does() {
    for (text, expected) in [
        ("192.168.1.5", "192.168.1.5"),
        ("192.168.1.5/24", "192.168.1.5/24"),
        ("10.1/16", "10.1.0.0/16"),
        ("10/8", "10.0.0.0/8"),
        ("010.001.0.1", "10.1.0.1"),
        ("1.2.3.4.", "1.2.3.4"),
        ("10.1", "22P02"),
        ("10/16", "22P02"),
        ("256.1.1.1", "22P02"),
        ("1.2.3.4/33", "22P02"),
        ("1.2.3.4/", "22P02"),
        ("1.2.3.4.5", "22P02"),
        (" 1.2.3.4", "22P02"),
        ("", "22P02"),
        ("::1", "::1"),
        ("::ffff:1.2.3.4/100", "::ffff:1.2.3.4/100"),
        ("::1.2.3.4", "::1.2.3.4"),
        ("::2", "::2"),
        ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("1:0:2:0:3:0:4:0/0", "1:0:2:0:3:0:4:0/0"),
        ("::/01", "22P02"),
        ("::/129", "22P02"),
        ("1::2::3", "22P02"),
        ("::g", "22P02"),
    ] {
        assert_eq!(shown(text, Type::Inet), expected, "{text}");
    }
    for (text, expected) in [
        ("10", "10.0.0.0/8"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("172.16", "172.16.0.0/16"),
        ("192.168.1", "192.168.1.0/24"),
        ("224", "224.0.0.0/4"),
        ("225", "225.0.0.0/8"),
        ("240", "240.0.0.0/32"),
        ("0xa0b", "160.176.0.0/16"),
        ("0x0a0b/16", "10.11.0.0/16"),
        ("1.2.3.", "22P02"),
        ("1.2.3.4/24", "22P02"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("2001:db8::1/32", "22P02"),
    ] {
        assert_eq!(shown(text, Type::Cidr), expected, "{text}");
    }
}

#[test]
fn bytes_compare_as_addresses_do() {
    let texts =
        ["0.0.0.0/0", "9.255.0.1", "10.0.0.0/8", "10.0.0.1/8", "10.0.0.0/9", "10.0.0.0", "10.0.0.1", "10.1.0.0/16"];
    let more = ["11.0.0.0/7", "255.255.255.255", "::/0", "::/128", "::1/127", "::1", "8000::/1", "ffff::"];
    let all: Vec<Network> = texts.iter().chain(&more).map(|text| Network::parse(text, Type::Inet).unwrap()).collect();
    for one in &all {
        for two in &all {
            let stored = |network: &Network| {
                let mut out = Vec::new();
                network.push_stored(&mut out);
                assert_eq!(Network::load(&out), Some(*network));
                out
            };
            assert_eq!(stored(one).cmp(&stored(two)), one.cmp(two), "{one:?} {two:?}");
        }
    }
}

#[test]
fn cards_are_read_in_all_forms() {
    let forms = [
        "08:00:2b:01:02:03",
        "08-00-2b-01-02-03",
        "8:0:2b:1:2:3",
        "08002b:010203",
        "08002b-010203",
        "0800.2b01.0203",
        "0800-2b01-0203",
        "08002b010203",
        " 08002B010203 ",
    ];
    for form in forms {
        let mut out = Vec::new();
        push_mac(parse_mac(form).unwrap(), &mut out);
        assert_eq!(out, b"08:00:2b:01:02:03", "{form}");
    }
    let code = |text: &str| parse_mac(text).unwrap_err().state;
    for text in ["", "08:00:2b:01:02", "08:00:2b:01:02:zz", "0800:2b01:0203", "08002b01020", "08002b0102034", "08;00"] {
        assert_eq!(code(text), SqlState::InvalidTextRepresentation, "{text}");
    }
    assert_eq!(code("08:00:2b:01:02:100"), SqlState::NumericValueOutOfRange);
}

#[test]
fn bytes_that_are_no_address_are_refused() {
    let code = |bytes: &[u8], ty| Network::parse_binary(bytes, ty).unwrap_err().state;
    for bytes in [&[4, 32, 0, 4, 1, 2, 3, 4][..], &[2, 33, 0, 4, 1, 2, 3, 4], &[2, 32, 0, 16, 1, 2, 3, 4]] {
        assert_eq!(code(bytes, Type::Inet), SqlState::InvalidBinaryRepresentation);
    }
    assert_eq!(code(&[2, 32, 0, 4, 1, 2, 3], Type::Inet), SqlState::ProtocolViolation);
    assert_eq!(code(&[2, 32], Type::Inet), SqlState::ProtocolViolation);
    assert_eq!(code(&[2, 32, 0, 4, 1, 2, 3, 4, 5], Type::Inet), SqlState::InvalidBinaryRepresentation);
    assert_eq!(code(&[2, 24, 1, 4, 1, 2, 3, 4], Type::Cidr), SqlState::InvalidBinaryRepresentation);
}

//! Records, cut into pieces at every place.

use super::*;

type Field<'f> = Option<&'f [u8]>;

fn options(format: Format) -> Options {
    let is_csv = format == Format::Csv;
    Options {
        format,
        delimiter: if is_csv { b',' } else { b'\t' },
        null: if is_csv { Vec::new() } else { b"\\N".to_vec() },
        has_header: false,
        matches_header: false,
        quote: b'"',
        escape: b'"',
        force_quote: Vec::new(),
        force_not_null: Vec::new(),
        force_null: Vec::new(),
    }
}

fn read(options: &Options, pieces: &[&[u8]]) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
    let (mut reader, mut split) = (Reader::new(options.clone(), Vec::new()), Split::new());
    let mut records = Vec::new();
    for (number, piece) in pieces.iter().chain([&&b""[..]]).enumerate() {
        reader.add(piece);
        reader.split(number == pieces.len(), &mut split);
        split.each(|_, fields| {
            records.push(fields.iter().map(|field| field.map(<[u8]>::to_vec)).collect());
            Ok(())
        })?;
    }
    Ok(records)
}

fn field(text: &str) -> Field<'_> {
    Some(text.as_bytes())
}

/// The same records come of the data in one piece and in any two.
fn assert_read(options: &Options, data: &[u8], expected: &[Vec<Field<'_>>]) {
    let own = |record: &Vec<Field<'_>>| record.iter().map(|field| field.map(<[u8]>::to_vec)).collect::<Vec<_>>();
    let expected: Vec<_> = expected.iter().map(own).collect();
    for cut in 0..=data.len() {
        let found = read(options, &[&data[..cut], &data[cut..]]).expect("records");
        assert_eq!(found, expected, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = data.chunks(1).collect();
    assert_eq!(read(options, &bytes).expect("records"), expected, "byte by byte");
}

#[test]
fn lines_end_as_the_first_one_does() {
    let expected = [vec![field("a"), field("1")], vec![field("b"), field("2")], vec![field(""), None]];
    for end in ["\n", "\r\n", "\r"] {
        for last in [end, ""] {
            let text = format!("a\t1{end}b\t2{end}\t\\N{last}");
            assert_read(&options(Format::Text), text.as_bytes(), &expected);
            let csv = format!("a,1{end}\"b\",2{end}\"\",{last}");
            assert_read(&options(Format::Csv), csv.as_bytes(), &expected);
        }
        let ended = format!("a\t1{end}b\t2{end}\t\\N{end}\\.{end}ignored");
        assert_read(&options(Format::Text), ended.as_bytes(), &expected);
        // What ends lines elsewhere may be quoted, or stand behind a backslash.
        let quoted = format!("\"x\r\ny\rz\n\"{end}2{end}");
        assert_read(&options(Format::Csv), quoted.as_bytes(), &[vec![field("x\r\ny\rz\n")], vec![field("2")]]);
    }
    let escaped = b"a\\\rb\\\nc\n";
    assert_read(&options(Format::Text), escaped, &[vec![field("a\rb\nc")]]);
}

#[test]
fn mixed_ends_of_lines_are_refused() {
    for (format, data, said) in [
        (Format::Text, "a\nb\r\n", "literal carriage return found in data"),
        (Format::Text, "a\nb\rc\n", "literal carriage return found in data"),
        (Format::Text, "a\r\nb\n", "literal newline found in data"),
        (Format::Text, "a\rb\nc\r", "literal newline found in data"),
        (Format::Csv, "a\n\"b\"\r\n", "unquoted carriage return found in data"),
        (Format::Csv, "a\r\nb\n", "unquoted newline found in data"),
        (Format::Csv, "a\r\"b\nc\"\nd\r", "unquoted newline found in data"),
    ] {
        for cut in 0..=data.len() {
            let pieces = [&data.as_bytes()[..cut], &data.as_bytes()[cut..]];
            let error = read(&options(format), &pieces).expect_err(data);
            assert_eq!((error.to_string().as_str(), error.code()), (said, "22P04"), "{data:?}, cut at {cut}");
        }
    }
}

#[test]
fn text_is_read() {
    let data = b"1\ta\\tb\\\\\t\\N\n2\t\\x41\\101\\\nc\t\n3\t\t\\.x\n\\.\nignored";
    let expected = [
        vec![field("1"), field("a\tb\\"), None],
        vec![field("2"), field("AA\nc"), field("")],
        vec![field("3"), field(""), field(".x")],
    ];
    assert_read(&options(Format::Text), data, &expected);
}

#[test]
fn csv_is_read() {
    let data = b"1,\"a,\"\"b\"\"\nc\",\n2,x,\"\"\n3,,y";
    let expected = [
        vec![field("1"), field("a,\"b\"\nc"), None],
        vec![field("2"), field("x"), field("")],
        vec![field("3"), None, field("y")],
    ];
    assert_read(&options(Format::Csv), data, &expected);
    assert_eq!(read(&options(Format::Csv), &[b"1,\"open"]).unwrap_err().code(), "22P04");
}

#[test]
fn a_header_is_passed_over() {
    let options = Options { has_header: true, ..options(Format::Csv) };
    assert_read(&options, b"a,b\n1,2\n", &[vec![field("1"), field("2")]]);
}

#[test]
fn binary_is_read() {
    let mut data = SIGNATURE.to_vec();
    data.extend([0; 8]);
    data.extend([0, 2, 0, 0, 0, 1, b'x', 0xff, 0xff, 0xff, 0xff]);
    data.extend([0xff, 0xff]);
    assert_read(&options(Format::Binary), &data, &[vec![field("x"), None]]);
    assert_eq!(read(&options(Format::Binary), &[b"no signature at all"]).unwrap_err().code(), "22P04");
    assert_eq!(read(&options(Format::Binary), &[&data[..24]]).unwrap_err().code(), "22P04");
}

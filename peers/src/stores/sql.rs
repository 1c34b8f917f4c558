//! The statements of peers that speak SQL: the table of YCSB with a column for each field.

use osier_bench::ycsb::YcsbConfig;

fn fields(config: &YcsbConfig, each: impl Fn(u32) -> String) -> String {
    (0..config.fields).map(each).collect::<Vec<_>>().join(", ")
}

/// Creates the table; `number` and `bytes` are the types of its columns.
pub fn create(config: &YcsbConfig, number: &str, bytes: &str) -> String {
    let fields = fields(config, |field| format!("field{field} {bytes} NOT NULL"));
    format!("CREATE TABLE usertable (ycsb_key {number} PRIMARY KEY, {fields})")
}

/// Inserts a row: the key is the first parameter, the fields follow. `mark` begins a parameter.
#[cfg(feature = "sqlite")]
pub fn insert(config: &YcsbConfig, mark: char) -> String {
    format!("INSERT INTO usertable VALUES ({mark}1, {})", fields(config, |field| format!("{mark}{}", field + 2)))
}

/// Overwrites a row, with the parameters of [`insert`].
pub fn update(config: &YcsbConfig, mark: char) -> String {
    let fields = fields(config, |field| format!("field{field} = {mark}{}", field + 2));
    format!("UPDATE usertable SET {fields} WHERE ycsb_key = {mark}1")
}

/// Reads the fields of a row.
pub fn select(config: &YcsbConfig, mark: char) -> String {
    format!("SELECT {} FROM usertable WHERE ycsb_key = {mark}1", fields(config, |field| format!("field{field}")))
}

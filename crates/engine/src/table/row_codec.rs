//! Rows as bytes (docs/row-format.md): groups of columns, each with its null bits, fixed columns, end offsets and variable
//! columns. Most tables have one group; each time that a table with rows gets columns they are another one.
//!
//! Invariants:
//! - Equal values, equal bytes: a NULL column holds zeros or nothing, unused bits are zero, offsets have no gaps, and groups at
//!   the end that hold what is missing are left out. So patching a row gives the bytes that encoding its new values would. Only
//!   where columns are gone old rows hold what these held; a row that is written holds zeros or nothing there.
//! - A row of a schema is a row of each that is made of it for the same table. Whoever still has a former one reads of a row that
//!   was written since what lies where it knows it, and writes a row without other groups; no commit of its keeps that.
//! - Every column lies at an offset known from the schema, or between two offsets that do: reading one is O(1) in the first
//!   group, and takes a step per group before it in others.
//! - Encoding writes every byte of its buffer and allocates nothing; the lengths are computed, and the values checked,
//!   beforehand. Writing to a buffer of another length is a defect and panics.
//! - Bytes that passed [`RowCodec::check`] never make a reader panic for what they hold.
//!
//! Deliberately absent: alignment (unaligned loads cost nothing here), compression, a format number per row (rows live in
//! records of the log, whose segments have one).

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::bounds::COLUMNS_MAX;
use super::error::SchemaError;
use super::schema::{self, ColumnId, Place, Schema, column_id_at};
use super::slot::{END_BYTES, Slot, get_end, variable_bytes};
use super::value::{Type, Value};

/// How the rows of one schema are encoded, worked out once.
#[derive(Debug)]
pub struct RowCodec {
    schema: Arc<Schema>,
    /// Where each column lies.
    slots: Vec<Slot>,
    /// The group that every row has.
    first: Group,
    /// The groups that came behind it, one after the other.
    later: Vec<Group>,
    /// Whether there is one group, and nothing in it but the columns in their order.
    is_plain: bool,
}

/// What lies together.
#[derive(Debug)]
struct Group {
    number: u16,
    /// All values, in order.
    places: Vec<Occupant>,
    /// The columns with their bits for NULL here.
    nulls: Vec<ColumnId>,
    /// The variable columns, in order; those that are gone are not among them.
    variable: Vec<ColumnId>,
    /// The bytes of the null bits.
    null_bytes: usize,
    null_bits: usize,
    /// Where the end offsets begin, which is where the fixed columns end.
    ends: usize,
    /// Where the variable columns begin; all of a group without any.
    head: usize,
    /// Of a later group: what it holds in rows that end before it.
    missing: Vec<u8>,
    /// Whether that is NULL in a column which does not take NULL any more, so that every row has the group.
    is_needed: bool,
}

/// What has a place in a group.
#[derive(Debug)]
enum Occupant {
    Column(ColumnId),
    /// A column that is gone.
    Gone(Slot),
}

impl Group {
    /// Works out where the columns of group `number` lie.
    fn new(schema: &Schema, number: u16, laid_out: &schema::Group, slots: &mut [Option<Slot>]) -> Group {
        let values = || laid_out.places.iter().filter_map(|place| place.value(schema));
        let without_value = laid_out.places.len() - values().count();
        let null_bits = without_value + values().filter(|(_, has_null_bit)| *has_null_bit).count();
        let null_bytes = null_bits.div_ceil(8);
        let ends = null_bytes + values().filter_map(|(ty, _)| ty.width()).sum::<usize>();
        let head = ends + END_BYTES * values().filter(|(ty, _)| ty.width().is_none()).count();
        let (places, nulls, variable, missing) = (Vec::new(), Vec::new(), Vec::new(), laid_out.missing.clone());
        let mut group =
            Group { number, places, nulls, variable, null_bytes, null_bits, ends, head, missing, is_needed: false };
        let (mut fixed, mut end, mut null_bit) = (null_bytes, ends, 0);
        for place in &laid_out.places {
            let takes_null = place.column().is_none_or(|column| schema.column(column).is_nullable());
            let Some((ty, has_null_bit)) = place.value(schema) else {
                if let Place::Null(column) = *place {
                    let slot = &mut slots[usize::from(column.0)];
                    *slot = slot.map(|slot| slot.with_null(number, null_bit, takes_null));
                    group.nulls.push(column);
                }
                null_bit += 1;
                continue;
            };
            let width = ty.width();
            let begin = (width.is_none() && end == ends).then_some(head);
            let next = if width.is_some() { &mut fixed } else { &mut end };
            let mut slot = Slot::new(ty, number, *next, begin);
            *next += width.unwrap_or(END_BYTES);
            let column = place.column();
            if has_null_bit {
                slot = slot.with_null(number, null_bit, takes_null);
                null_bit += 1;
                group.nulls.extend(column);
            }
            group.places.push(column.map_or(Occupant::Gone(slot), Occupant::Column));
            if let Some(column) = column {
                slots[usize::from(column.0)] = Some(slot);
                group.variable.extend(width.is_none().then_some(column));
            }
        }
        assert_eq!((fixed, end), (ends, head), "the columns of table {} do not fill their parts", schema.name());
        group
    }

    fn lacks_values(&self, slots: &[Slot]) -> bool {
        let lacks = |slot: &Slot| !slot.takes_null && slot.null_group == self.number && slot.is_null(&self.missing);
        self.missing.len() >= self.head && self.nulls.iter().any(|column| lacks(&slots[usize::from(column.0)]))
    }

    /// How many bytes it takes with these values, which are those of all columns.
    fn len_of(&self, values: &[Value<'_>]) -> usize {
        self.head
            + self.variable.iter().map(|column| variable_bytes(values[usize::from(column.0)]).len()).sum::<usize>()
    }

    /// How many of `bytes`, which begin with the group, are its.
    #[inline]
    fn len(&self, bytes: &[u8]) -> usize {
        if self.head == self.ends { self.head } else { get_end(bytes, self.head - END_BYTES) }
    }
}

impl RowCodec {
    /// Returns the codec of `schema`.
    pub fn new(schema: Arc<Schema>) -> RowCodec {
        let count = schema.columns().len();
        assert!(count <= COLUMNS_MAX, "table {} was built beyond its limits", schema.name());
        let mut slots = vec![None; count];
        let groups = schema.groups();
        let mut groups = (0..).zip(&groups).map(|(number, group)| Group::new(&schema, number, group, &mut slots));
        let first = groups.next().expect("there is a first group");
        let mut later: Vec<Group> = groups.collect();
        let slots: Vec<Slot> = slots.into_iter().map(|slot| slot.expect("each column lies somewhere")).collect();
        later.iter_mut().for_each(|group| group.is_needed = group.lacks_values(&slots));
        let is_in_order =
            |(at, place): (usize, &Occupant)| matches!(place, Occupant::Column(ColumnId(id)) if usize::from(*id) == at);
        let is_plain = later.is_empty() && first.places.iter().enumerate().all(is_in_order);
        RowCodec { schema, slots, first, later, is_plain }
    }

    /// Returns the schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Checks one value per column and returns the bytes that the row will take.
    pub fn encoded_len(&self, values: &[Value<'_>]) -> Result<usize, SchemaError> {
        if values.len() != self.slots.len() {
            let (table, object) = (self.schema.name().to_owned(), "a row".to_owned());
            return Err(SchemaError::WrongCount { table, object, expected: self.slots.len(), found: values.len() });
        }
        let mut bytes = self.first.head;
        for (position, (slot, value)) in self.slots.iter().zip(values).enumerate() {
            if !slot.takes(*value) {
                return Err(self.refused(column_id_at(position), *value));
            }
            bytes += variable_bytes(*value).len();
        }
        if !self.is_plain {
            bytes = self.groups_of(values).map(|group| group.len_of(values)).sum();
        }
        self.check_len(bytes)
    }

    /// The groups that a row of these values has.
    fn groups_of(&self, values: &[Value<'_>]) -> impl Iterator<Item = &Group> {
        std::iter::once(&self.first).chain(&self.later[..self.later_groups(values)])
    }

    /// How many later groups a row of these values has.
    fn later_groups(&self, values: &[Value<'_>]) -> usize {
        let value = |column: ColumnId| values[usize::from(column.0)];
        let is_missing = |group: &Group| {
            let has_value = |place: &Occupant| match place {
                Occupant::Column(column) => self.slot(*column).holds(&group.missing, value(*column)),
                Occupant::Gone(_) => true,
            };
            let has_null = |column: &ColumnId| self.slot(*column).is_null(&group.missing) == value(*column).is_null();
            group.places.iter().all(has_value) && group.nulls.iter().all(has_null)
        };
        let needed = self.later.iter().rposition(|group| !is_missing(group));
        needed.map_or(0, |last| last + 1)
    }

    /// Encodes values that [`RowCodec::encoded_len`] passed into a buffer of the length it returned.
    ///
    /// # Panics
    /// Where the buffer has another length.
    pub fn encode_into(&self, values: &[Value<'_>], out: &mut [u8]) {
        assert_eq!(values.len(), self.slots.len(), "unchecked values for table {}", self.schema.name());
        let rest = match self.is_plain {
            true => {
                let columns = self.slots.iter().zip(values.iter().copied());
                encode_values(&self.first, columns, |head, slot| slot.put_null(head, true), out)
            }
            false => self.groups_of(values).fold(out, |rest, group| self.encode_group(group, values, rest)),
        };
        assert!(rest.is_empty(), "a row of table {} was encoded into too long a buffer", self.schema.name());
    }

    /// Encodes a group; `values` are those of all columns. Returns what of the buffer is behind it.
    fn encode_group<'o>(&self, group: &Group, values: &[Value<'_>], out: &'o mut [u8]) -> &'o mut [u8] {
        let (own, rest) = out.split_at_mut(group.len_of(values));
        let places = group.places.iter().map(|place| match place {
            Occupant::Column(column) => (&self.slots[usize::from(column.0)], values[usize::from(column.0)]),
            Occupant::Gone(slot) => (slot, Value::Null),
        });
        encode_values(group, places, |_, _| {}, own);
        for column in group.nulls.iter().filter(|column| values[usize::from(column.0)].is_null()) {
            self.slots[usize::from(column.0)].put_null(own, true);
        }
        rest
    }

    /// Checks the values of the columns of the last group, and encodes them by themselves.
    pub(super) fn encode_last_group(&self, values: &[Value<'_>]) -> Result<Vec<u8>, SchemaError> {
        let group = self.later.last().unwrap_or(&self.first);
        let mut all = vec![Value::Null; self.slots.len()];
        for (place, value) in group.places.iter().zip(values) {
            let Occupant::Column(column) = *place else { continue };
            if !self.slot(column).takes(*value) {
                return Err(self.refused(column, *value));
            }
            all[usize::from(column.0)] = *value;
        }
        let mut out = vec![0; self.check_len(group.len_of(&all))?];
        self.encode_group(group, &all, &mut out);
        Ok(out)
    }

    /// Checks and encodes into a vector.
    pub fn encode(&self, values: &[Value<'_>]) -> Result<Vec<u8>, SchemaError> {
        let mut out = vec![0; self.encoded_len(values)?];
        self.encode_into(values, &mut out);
        Ok(out)
    }

    /// Checks the changes of some columns of the row `old` and returns the bytes that the new row will take.
    pub fn patched_len(&self, old: &[u8], changes: &[(ColumnId, Value<'_>)]) -> Result<usize, SchemaError> {
        let old = self.known(old);
        let mut seen = [0_u64; COLUMNS_MAX.div_ceil(64)];
        let (mut added, mut removed) = (0, 0);
        for (column, value) in changes {
            let position = usize::from(column.0);
            let Some(slot) = self.slots.get(position) else {
                return Err(self.schema.unknown_column(format!("with number {column}")));
            };
            if !slot.takes(*value) {
                return Err(self.refused(*column, *value));
            }
            let bit = 1 << (position % 64);
            if seen[position / 64] & bit != 0 {
                let (table, column) = (self.schema.name().to_owned(), self.schema.column(*column).name().to_owned());
                return Err(SchemaError::RepeatedChange { table, column });
            }
            seen[position / 64] |= bit;
            if slot.is_variable() {
                added += variable_bytes(*value).len();
                removed += self.found(old, *column).1.len();
            }
        }
        if !self.is_plain {
            return self.encoded_len(&self.patched(old, changes));
        }
        self.check_len(old.len() + added - removed)
    }

    /// Encodes the row `old` with changes that [`RowCodec::patched_len`] passed into a buffer of the length it returned.
    ///
    /// # Panics
    /// Where the buffer has another length.
    pub fn patch_into(&self, old: &[u8], changes: &[(ColumnId, Value<'_>)], out: &mut [u8]) {
        let old = self.known(old);
        if !self.is_plain {
            return self.encode_into(&self.patched(old, changes), out);
        }
        let keeps_lengths = out.len() == old.len() && {
            out.copy_from_slice(old);
            changes.iter().all(|(column, value)| self.overwrite(out, *column, *value))
        };
        if !keeps_lengths {
            out[..self.first.ends].copy_from_slice(&old[..self.first.ends]);
            self.patch_variable(old, changes, out);
            for (column, value) in changes {
                let slot = &self.slots[usize::from(column.0)];
                slot.put_null(out, value.is_null());
                if !slot.is_variable() {
                    slot.put_fixed(out, *value);
                }
            }
        }
    }

    /// What of a row's bytes this schema knows: a later one may have more groups.
    #[inline]
    fn known<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.is_plain { &bytes[..self.first.len(bytes)] } else { bytes }
    }

    /// The values of the row `old` with changes.
    fn patched<'v>(&'v self, old: &'v [u8], changes: &[(ColumnId, Value<'v>)]) -> SmallVec<[Value<'v>; 32]> {
        let mut values: SmallVec<[_; 32]> = (0..self.columns()).map(|at| self.value(old, column_id_at(at))).collect();
        changes.iter().for_each(|(column, value)| values[usize::from(column.0)] = *value);
        values
    }

    /// Changes one column of the row `out` where that keeps its length; `false` where it does not.
    #[inline]
    fn overwrite(&self, out: &mut [u8], column: ColumnId, value: Value<'_>) -> bool {
        let slot = &self.slots[usize::from(column.0)];
        if slot.is_variable() {
            let range = slot.range(out);
            let place = &mut out[range];
            let bytes = variable_bytes(value);
            if place.len() != bytes.len() {
                return false;
            }
            place.copy_from_slice(bytes);
        } else {
            slot.put_fixed(out, value);
        }
        slot.put_null(out, value.is_null());
        true
    }

    /// Writes all end offsets and variable columns; unchanged neighbours are copied together.
    fn patch_variable(&self, old: &[u8], changes: &[(ColumnId, Value<'_>)], out: &mut [u8]) {
        const UNCHANGED: u16 = u16::MAX;
        let mut change_of = [UNCHANGED; COLUMNS_MAX];
        for (position, (column, _)) in (0..).zip(changes) {
            change_of[usize::from(column.0)] = position;
        }
        let (mut end, mut run) = (self.first.head, self.first.head..self.first.head);
        for column in &self.first.variable {
            let slot = &self.slots[usize::from(column.0)];
            let range = slot.range(old);
            let change = change_of[usize::from(column.0)];
            if change == UNCHANGED {
                run.end = range.end;
                slot.put_end(out, end + run.len());
                continue;
            }
            out[end..end + run.len()].copy_from_slice(&old[run.clone()]);
            end += run.len();
            let bytes = variable_bytes(changes[usize::from(change)].1);
            out[end..end + bytes.len()].copy_from_slice(bytes);
            end += bytes.len();
            slot.put_end(out, end);
            run = range.end..range.end;
        }
        out[end..].copy_from_slice(&old[run]);
    }

    /// Says whether `bytes` are a row of this schema: what encoding some values gives, but for columns that are gone.
    pub fn check(&self, bytes: &[u8]) -> Result<(), SchemaError> {
        let mut rest = self.check_group(&self.first, bytes, false)?;
        for group in &self.later {
            if rest.is_empty() {
                if group.is_needed {
                    return Err(self.corrupt(group.nulls.first().copied(), "it ends before a column that is not NULL"));
                }
                continue;
            }
            let behind = self.check_group(group, rest, false)?;
            if behind.is_empty() && rest == group.missing {
                return Err(self.corrupt(None, "it ends with a group that is left out"));
            }
            rest = behind;
        }
        if !rest.is_empty() {
            let end = bytes.len() - rest.len();
            return Err(self.corrupt(None, &format!("its columns end at byte {end} of {}", bytes.len())));
        }
        // Whether it is NULL was not known when its value was looked at.
        for column in self.later.iter().flat_map(|group| &group.nulls) {
            let slot = self.slot(*column);
            if let (None, value) = self.found(bytes, *column) {
                let is_sound = slot.takes_null && slot.check(value, true, true).is_ok();
                if !is_sound {
                    return Err(self.corrupt(Some(*column), "it is NULL, and has a value or does not take that"));
                }
            }
        }
        Ok(())
    }

    /// Whether what the later groups hold where they are missing is what encoding some values gives.
    pub(super) fn check_missing(&self) -> Result<(), SchemaError> {
        for group in &self.later {
            if !self.check_group(group, &group.missing, true)?.is_empty() {
                return Err(self.corrupt(None, "what a group holds that is missing has bytes behind it"));
            }
        }
        Ok(())
    }

    /// Checks a group, which `bytes` begin with; returns what is behind it. What is missing may be NULL where rows may not.
    fn check_group<'b>(&self, group: &Group, bytes: &'b [u8], is_missing: bool) -> Result<&'b [u8], SchemaError> {
        if bytes.len() < group.head {
            let (found, head) = (bytes.len(), group.head);
            return Err(self.corrupt(None, &format!("it has a group of {found} bytes of at least {head}")));
        }
        for bit in group.null_bits..group.null_bytes * 8 {
            if bytes[bit / 8] & (1 << (bit % 8)) != 0 {
                return Err(self.corrupt(None, "it has a null bit of no column"));
            }
        }
        // Most texts are ASCII; looking at all of them at once is several times faster than at each.
        let is_ascii = bytes[group.head..].is_ascii();
        let mut end = group.head;
        for place in &group.places {
            let (column, slot) = match place {
                Occupant::Column(column) => (Some(*column), self.slot(*column)),
                Occupant::Gone(slot) => (None, slot),
            };
            let range = slot.range(bytes);
            let Some(value) = bytes.get(range.clone()) else {
                return Err(self.corrupt(column, "its offsets are outside the row"));
            };
            let is_null = slot.null_group == group.number && slot.is_null(bytes);
            if is_null && !slot.takes_null && !is_missing {
                return Err(self.corrupt(column, "it is NULL and does not take that"));
            }
            if let Err(what) = slot.check(value, is_null, is_ascii) {
                return Err(self.corrupt(column, what));
            }
            if slot.is_variable() {
                end = range.end;
            }
        }
        Ok(&bytes[end..])
    }

    /// Why a column does not take a value.
    #[cold]
    fn refused(&self, column: ColumnId, value: Value<'_>) -> SchemaError {
        match self.schema.check_value(column, value) {
            Err(error) => error,
            Ok(()) => panic!("{} was refused for column {column} of table {}", value.kind(), self.schema.name()),
        }
    }

    #[cold]
    fn corrupt(&self, column: Option<ColumnId>, what: &str) -> SchemaError {
        let column = column.map(|column| self.schema.column(column).name());
        let reason = column.map_or_else(|| what.to_owned(), |name| format!("column {name}: {what}"));
        SchemaError::CorruptRow { table: self.schema.name().to_owned(), reason }
    }

    fn check_len(&self, bytes: usize) -> Result<usize, SchemaError> {
        if u32::try_from(bytes).is_err() {
            return Err(SchemaError::RowTooLong { table: self.schema.name().to_owned(), bytes });
        }
        Ok(bytes)
    }

    /// Whether two rows hold the same; what is left of columns that are gone does not count.
    pub(super) fn is_same(&self, one: &[u8], other: &[u8]) -> bool {
        let anew = |bytes| self.encode(&self.patched(bytes, &[])).ok();
        one == other || !self.is_plain && anew(one) == anew(other)
    }

    /// Returns how many columns there are.
    pub(super) fn columns(&self) -> usize {
        self.slots.len()
    }

    /// Returns the type of a column, `None` where it is NULL in `bytes`, and its bytes without their end offset: zeros or nothing
    /// where it is NULL.
    ///
    /// # Panics
    /// Where the table has no such column.
    #[inline]
    pub(super) fn found<'b>(&'b self, bytes: &'b [u8], column: ColumnId) -> (Option<Type>, &'b [u8]) {
        let slot = self.slot(column);
        let group = self.group(bytes, slot.group);
        let nulls = if slot.null_group == slot.group { group } else { self.group(bytes, slot.null_group) };
        ((!slot.is_null(nulls)).then_some(slot.ty), &group[slot.range(group)])
    }

    /// What begins with a group, whether the row has it or not.
    #[inline]
    fn group<'b>(&'b self, bytes: &'b [u8], number: u16) -> &'b [u8] {
        if number == 0 { bytes } else { self.later_group(bytes, number) }
    }

    /// What begins with a later group: the bytes of the row from there, or what is missing there.
    fn later_group<'b>(&'b self, bytes: &'b [u8], group: u16) -> &'b [u8] {
        let at = usize::from(group) - 1;
        let mut rest = &bytes[self.first.len(bytes)..];
        for group in &self.later[..at] {
            if rest.is_empty() {
                break;
            }
            rest = &rest[group.len(rest)..];
        }
        if rest.is_empty() { &self.later[at].missing } else { rest }
    }

    /// Where a fixed column of the group that every row has lies.
    pub(crate) fn fixed_range(&self, column: ColumnId) -> Range<usize> {
        let slot = self.slot(column);
        assert!(slot.group == 0 && !slot.is_variable(), "column {column} lies elsewhere in each row");
        slot.range(&[])
    }

    #[inline]
    fn slot(&self, column: ColumnId) -> &Slot {
        match self.slots.get(usize::from(column.0)) {
            Some(slot) => slot,
            None => panic!("table {} has no column {column}", self.schema.name()),
        }
    }
}

/// Encodes what has a place in a group, which `out` begins with; `null` is given the slots of what is NULL. Returns what is
/// behind it.
#[inline]
fn encode_values<'s, 'v, 'o>(
    group: &Group,
    values: impl Iterator<Item = (&'s Slot, Value<'v>)>,
    null: impl Fn(&mut [u8], &Slot),
    out: &'o mut [u8],
) -> &'o mut [u8] {
    let (head, mut rest) = out.split_at_mut(group.head);
    head[..group.null_bytes].fill(0);
    let mut end = group.head;
    for (slot, value) in values {
        if value.is_null() {
            null(head, slot);
        }
        if slot.is_variable() {
            let bytes = variable_bytes(value);
            let (place, behind) = rest.split_at_mut(bytes.len());
            place.copy_from_slice(bytes);
            rest = behind;
            end += bytes.len();
            slot.put_end(head, end);
        } else {
            slot.put_fixed(head, value);
        }
    }
    rest
}

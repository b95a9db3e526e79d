//! Parquet files, as far as tables of whole numbers and words need the format: a page a column and row group,
//! plain numbers, words by dictionary, nothing compressed (decision 0064).
//!
//! ```text
//!  PAR1 │ row group: column: [dictionary page] data page │ ... │ footer (thrift) │ its length │ PAR1
//! ```

use std::collections::HashMap;
use std::io::{self, Write};

/// Rows of a group, which is in memory.
const GROUP: usize = 1 << 14;

const MAGIC: &[u8] = b"PAR1";

/// Contents of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A number in every row.
    Number,
    /// A number, or nothing.
    Maybe,
    /// A word in every row.
    Word,
}

/// The numbers of the format's enumerations.
mod code {
    pub const INT64: i64 = 2;
    pub const BYTE_ARRAY: i64 = 6;
    pub const REQUIRED: i64 = 0;
    pub const OPTIONAL: i64 = 1;
    pub const UTF8: i64 = 0;
    pub const PLAIN: i64 = 0;
    pub const RLE: i64 = 3;
    pub const RLE_DICTIONARY: i64 = 8;
    pub const UNCOMPRESSED: i64 = 0;
    pub const DATA_PAGE: i64 = 0;
    pub const DICTIONARY_PAGE: i64 = 2;
}

/// Values of a column in the group that is being filled.
#[derive(Debug)]
struct Column {
    name: String,
    holds: Type,
    /// Numbers, or indices of words in `words`; without the empty rows of a column that may have some.
    values: Vec<i64>,
    /// Runs of rows with (1) and without (0) a value.
    there: Runs,
    words: Vec<String>,
    places: HashMap<String, i64>,
}

/// A column's pages of one group.
#[derive(Debug)]
struct Chunk {
    values: usize,
    dictionary: Option<u64>,
    data: u64,
    bytes: u64,
}

/// Equal values that follow one another, with their number.
#[derive(Debug, Default)]
struct Runs(Vec<(u64, u64)>);

impl Runs {
    fn push(&mut self, value: u64) {
        match self.0.last_mut() {
            Some((last, times)) if *last == value => *times += 1,
            _ => self.0.push((value, 1)),
        }
    }
    /// The format's run-length encoding of values of so many bits.
    fn write(&self, bits: u32, out: &mut Vec<u8>) {
        for (value, times) in &self.0 {
            varint(out, times << 1);
            out.extend(&value.to_le_bytes()[..bits.div_ceil(8) as usize]);
        }
    }
}

/// Writes a file.
pub(super) struct Writer<W: Write> {
    out: W,
    at: u64,
    columns: Vec<Column>,
    rows: usize,
    groups: Vec<(usize, Vec<Chunk>)>,
}

impl<W: Write> Writer<W> {
    /// A file with these columns.
    pub fn new(mut out: W, columns: &[(String, Type)]) -> io::Result<Writer<W>> {
        out.write_all(MAGIC)?;
        let column = |(name, holds): &(String, Type)| Column {
            name: name.clone(),
            holds: *holds,
            values: Vec::new(),
            there: Runs::default(),
            words: Vec::new(),
            places: HashMap::new(),
        };
        let columns = columns.iter().map(column).collect();
        Ok(Writer { out, at: MAGIC.len() as u64, columns, rows: 0, groups: Vec::new() })
    }

    /// Sets the number of a column in the present row, if there is one.
    pub fn number(&mut self, column: usize, value: Option<i64>) {
        let column = &mut self.columns[column];
        if column.holds == Type::Maybe {
            column.there.push(value.is_some().into());
        } else {
            debug_assert!(value.is_some(), "{} is in every row", column.name);
        }
        column.values.extend(value);
    }

    /// Sets the word of a column in the present row.
    pub fn word(&mut self, column: usize, word: &str) {
        let Column { words, places, values, .. } = &mut self.columns[column];
        let place = places.get(word).copied().unwrap_or_else(|| {
            let place = words.len() as i64;
            words.push(word.to_owned());
            places.insert(word.to_owned(), place);
            place
        });
        values.push(place);
    }

    /// Ends the row.
    pub fn row(&mut self) -> io::Result<()> {
        self.rows += 1;
        match self.rows {
            GROUP => self.group(),
            _ => Ok(()),
        }
    }

    fn group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut chunks = Vec::new();
        for column in &mut self.columns {
            let begins = self.at;
            let mut dictionary = None;
            let mut body = Vec::new();
            let mut encoding = code::PLAIN;
            match column.holds {
                Type::Word => {
                    let mut words = Vec::new();
                    for word in &column.words {
                        words.extend((word.len() as u32).to_le_bytes());
                        words.extend(word.as_bytes());
                    }
                    dictionary = Some(self.at);
                    let count = column.words.len();
                    self.at += dictionary_page(&mut self.out, count, &words)?;
                    encoding = code::RLE_DICTIONARY;
                    let bits = u64::BITS - (count as u64).leading_zeros();
                    body.push(bits as u8);
                    let mut runs = Runs::default();
                    column.values.iter().for_each(|place| runs.push(*place as u64));
                    runs.write(bits, &mut body);
                }
                Type::Maybe => {
                    let mut there = Vec::new();
                    column.there.write(1, &mut there);
                    body.extend((there.len() as u32).to_le_bytes());
                    body.extend(there);
                    body.extend(column.values.iter().flat_map(|value| value.to_le_bytes()));
                }
                Type::Number => {
                    body.extend(column.values.iter().flat_map(|value| value.to_le_bytes()));
                }
            }
            let data = self.at;
            self.at += data_page(&mut self.out, rows, encoding, &body)?;
            chunks.push(Chunk { values: rows, dictionary, data, bytes: self.at - begins });
            column.values.clear();
            column.there.0.clear();
            column.words.clear();
            column.places.clear();
        }
        self.groups.push((rows, chunks));
        Ok(())
    }

    /// Ends the file; `about` describes its contents, by key.
    pub fn finish(mut self, about: &[(&str, &str)]) -> io::Result<()> {
        if self.rows > 0 {
            self.group()?;
        }
        let footer = self.footer(about);
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()
    }

    /// `FileMetaData` of the format.
    fn footer(&self, about: &[(&str, &str)]) -> Vec<u8> {
        let mut file = Thrift::default();
        file.number(1, 1);
        file.structs(2, self.columns.len() + 1);
        let mut root = Thrift::default();
        root.text(4, "rows");
        root.number(5, self.columns.len() as i64);
        file.element(root);
        for column in &self.columns {
            let mut element = Thrift::default();
            let word = column.holds == Type::Word;
            element.number(1, if word { code::BYTE_ARRAY } else { code::INT64 });
            let maybe = column.holds == Type::Maybe;
            element.number(3, if maybe { code::OPTIONAL } else { code::REQUIRED });
            element.text(4, &column.name);
            if word {
                element.number(6, code::UTF8);
            }
            file.element(element);
        }
        file.long(3, self.groups.iter().map(|(rows, _)| *rows as i64).sum());
        file.structs(4, self.groups.len());
        for (rows, chunks) in &self.groups {
            let mut group = Thrift::default();
            group.structs(1, chunks.len());
            for (column, chunk) in self.columns.iter().zip(chunks) {
                group.element(chunk.told(column));
            }
            group.long(2, chunks.iter().map(|chunk| chunk.bytes as i64).sum());
            group.long(3, *rows as i64);
            file.element(group);
        }
        file.structs(5, about.len());
        for (key, value) in about {
            let mut pair = Thrift::default();
            pair.text(1, key);
            pair.text(2, value);
            file.element(pair);
        }
        file.text(6, concat!("sunstar ", env!("CARGO_PKG_VERSION")));
        file.end()
    }
}

impl Chunk {
    /// `ColumnChunk`, with its `ColumnMetaData`.
    fn told(&self, column: &Column) -> Thrift {
        let word = column.holds == Type::Word;
        let mut data = Thrift::default();
        data.number(1, if word { code::BYTE_ARRAY } else { code::INT64 });
        let encodings: &[i64] = match column.holds {
            Type::Word => &[code::PLAIN, code::RLE_DICTIONARY],
            Type::Maybe => &[code::PLAIN, code::RLE],
            Type::Number => &[code::PLAIN],
        };
        data.numbers(2, encodings);
        data.texts(3, &[&column.name]);
        data.number(4, code::UNCOMPRESSED);
        data.long(5, self.values as i64);
        data.long(6, self.bytes as i64);
        data.long(7, self.bytes as i64);
        data.long(9, self.data as i64);
        if let Some(dictionary) = self.dictionary {
            data.long(11, dictionary as i64);
        }
        let mut chunk = Thrift::default();
        chunk.long(2, self.dictionary.unwrap_or(self.data) as i64);
        chunk.inside(3, data);
        chunk
    }
}

/// Writes a page behind its header; gives the bytes of both.
fn page(out: &mut impl Write, header: Thrift, body: &[u8]) -> io::Result<u64> {
    let header = header.end();
    out.write_all(&header)?;
    out.write_all(body)?;
    Ok((header.len() + body.len()) as u64)
}

fn header(kind: i64, body: &[u8]) -> Thrift {
    let mut header = Thrift::default();
    header.number(1, kind);
    header.number(2, body.len() as i64);
    header.number(3, body.len() as i64);
    header
}

fn data_page(out: &mut impl Write, rows: usize, encoding: i64, body: &[u8]) -> io::Result<u64> {
    let mut header = header(code::DATA_PAGE, body);
    let mut data = Thrift::default();
    data.number(1, rows as i64);
    data.number(2, encoding);
    data.number(3, code::RLE);
    data.number(4, code::RLE);
    header.inside(5, data);
    page(out, header, body)
}

fn dictionary_page(out: &mut impl Write, words: usize, body: &[u8]) -> io::Result<u64> {
    let mut header = header(code::DICTIONARY_PAGE, body);
    let mut dictionary = Thrift::default();
    dictionary.number(1, words as i64);
    dictionary.number(2, code::PLAIN);
    header.inside(7, dictionary);
    page(out, header, body)
}

/// A structure of thrift's compact protocol; fields ascend.
#[derive(Debug, Default)]
struct Thrift {
    out: Vec<u8>,
    last: u8,
}

/// Types of that protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Thrift {
    fn field(&mut self, number: u8, kind: u8) {
        debug_assert!(number > self.last && number - self.last < 16, "fields ascend");
        self.out.push((number - self.last) << 4 | kind);
        self.last = number;
    }
    fn number(&mut self, field: u8, value: i64) {
        self.field(field, I32);
        zigzag(&mut self.out, value);
    }
    fn long(&mut self, field: u8, value: i64) {
        self.field(field, I64);
        zigzag(&mut self.out, value);
    }
    fn text(&mut self, field: u8, text: &str) {
        self.field(field, BINARY);
        binary(&mut self.out, text);
    }
    fn list(&mut self, field: u8, kind: u8, length: usize) {
        self.field(field, LIST);
        match u8::try_from(length) {
            Ok(short @ 0..15) => self.out.push(short << 4 | kind),
            _ => {
                self.out.push(0xf0 | kind);
                varint(&mut self.out, length as u64);
            }
        }
    }
    fn numbers(&mut self, field: u8, values: &[i64]) {
        self.list(field, I32, values.len());
        values.iter().for_each(|value| zigzag(&mut self.out, *value));
    }
    fn texts(&mut self, field: u8, texts: &[&str]) {
        self.list(field, BINARY, texts.len());
        texts.iter().for_each(|text| binary(&mut self.out, text));
    }
    /// A list of structures, whose elements follow.
    fn structs(&mut self, field: u8, length: usize) {
        self.list(field, STRUCT, length);
    }
    fn element(&mut self, element: Thrift) {
        self.out.extend(element.end());
    }
    fn inside(&mut self, field: u8, inner: Thrift) {
        self.field(field, STRUCT);
        self.out.extend(inner.end());
    }
    fn end(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(out: &mut Vec<u8>, value: i64) {
    varint(out, (value << 1 ^ value >> 63) as u64);
}

fn binary(out: &mut Vec<u8>, text: &str) {
    varint(out, text.len() as u64);
    out.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_thrift_has_them() {
        let written = |value| {
            let mut out = Vec::new();
            zigzag(&mut out, value);
            out
        };
        assert_eq!(written(0), [0]);
        assert_eq!(written(-1), [1]);
        assert_eq!(written(150), [0xac, 0x02]);
        let mut long = Thrift::default();
        long.numbers(2, &[0; 15]);
        assert_eq!(long.end()[..3], [0x29, 0xf5, 15]);
    }

    #[test]
    fn runs_have_their_length_and_value() {
        let mut runs = Runs::default();
        [1, 1, 1, 0].into_iter().for_each(|value| runs.push(value));
        let mut out = Vec::new();
        runs.write(1, &mut out);
        assert_eq!(out, [6, 1, 2, 0]);
        let mut wide = Vec::new();
        Runs(vec![(300, 2)]).write(9, &mut wide);
        assert_eq!(wide, [4, 44, 1]);
    }

    #[test]
    fn a_file_begins_and_ends_as_readers_look_for() {
        let columns = [("a".to_string(), Type::Number), ("b".to_string(), Type::Word)];
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, &columns).unwrap();
        for row in 0..2 * GROUP as i64 + 1 {
            writer.number(0, Some(row));
            writer.word(1, if row % 2 == 0 { "even" } else { "odd" });
            writer.row().unwrap();
        }
        assert_eq!((writer.groups.len(), writer.rows), (2, 1), "groups are written as they fill");
        writer.finish(&[("key", "value")]).unwrap();
        let footer = u32::from_le_bytes(out[out.len() - 8..out.len() - 4].try_into().unwrap());
        assert!(out.starts_with(MAGIC) && out.ends_with(MAGIC));
        assert_eq!(out[out.len() - 8 - footer as usize], 0x15, "a footer begins with its version");
    }
}

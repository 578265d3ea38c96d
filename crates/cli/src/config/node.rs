//! What one layer says, with the place of every value.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// The line of its key, from 1; none outside of files.
    pub(super) line: Option<usize>,
    /// The variable or flag that set it, outside of files.
    pub(super) name: Option<String>,
    /// What it is.
    pub(super) data: Data,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Table(BTreeMap<String, Node>),
    List(Vec<Node>),
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

impl Data {
    /// The words for what this is.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Self::Table(_) => "a table",
            Self::List(_) => "a list",
            Self::Text(_) => "a text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Bool(_) => "true or false",
        }
    }
}

impl Node {
    /// An empty table.
    pub(super) fn root() -> Self {
        Self { line: None, name: None, data: Data::Table(BTreeMap::new()) }
    }

    /// The members, of a table.
    pub(super) fn table(&self) -> Option<&BTreeMap<String, Self>> {
        match &self.data {
            Data::Table(members) => Some(members),
            _ => None,
        }
    }

    /// As [`Self::table`], to change them.
    pub(super) fn table_mut(&mut self) -> Option<&mut BTreeMap<String, Self>> {
        match &mut self.data {
            Data::Table(members) => Some(members),
            _ => None,
        }
    }

    /// The value at a path of keys.
    pub(super) fn at<'a>(&self, path: impl IntoIterator<Item = &'a str>) -> Option<&Self> {
        path.into_iter().try_fold(self, |node, key| node.table()?.get(key))
    }

    /// Puts a value at a path of keys, making tables on the way. False if something on the way is none.
    pub(super) fn set(&mut self, path: &[String], value: Self) -> bool {
        let Some((key, rest)) = path.split_first() else {
            *self = value;
            return true;
        };
        let Some(members) = self.table_mut() else { return false };
        let child = members.entry(key.clone()).or_insert_with(|| Self {
            line: None,
            name: value.name.clone(),
            data: Data::Table(BTreeMap::new()),
        });
        child.set(rest, value)
    }
}

/// Reads a TOML file. The error is the line, the column and what is wrong; it never quotes the file,
/// which may hold secrets.
pub(super) fn parse_file(text: &str) -> Result<Node, (usize, usize, String)> {
    let lines = Lines::of(text);
    let failed = |error: &toml::de::Error| {
        let (line, column) = lines.position(text, error.span().map_or(0, |span| span.start));
        (line, column, error.message().to_owned())
    };
    let table = DeTable::parse(text).map_err(|error| failed(&error))?.into_inner();
    let data =
        table_data(table, &|offset| Some(lines.line(offset))).map_err(|(offset, message)| {
            let (line, column) = lines.position(text, offset);
            (line, column, message)
        })?;
    Ok(Node { line: None, name: None, data })
}

/// Reads one value as TOML writes it; what is none is a text.
pub(super) fn parse_value(text: &str, name: &str) -> Node {
    let data = DeValue::parse(text.trim())
        .ok()
        .and_then(|value| value_data(value.span().start, value.into_inner(), &|_| None).ok());
    let data = data.unwrap_or_else(|| Data::Text(text.to_owned()));
    Node { line: None, name: Some(name.to_owned()), data }
}

type LineOf<'a> = &'a dyn Fn(usize) -> Option<usize>;

fn table_data(table: DeTable<'_>, line_of: LineOf<'_>) -> Result<Data, (usize, String)> {
    let mut members = BTreeMap::new();
    for (key, value) in table {
        let line = line_of(key.span().start);
        let data = value_data(value.span().start, value.into_inner(), line_of)?;
        members.insert(key.into_inner().into_owned(), Node { line, name: None, data });
    }
    Ok(Data::Table(members))
}

fn value_data(
    start: usize,
    value: DeValue<'_>,
    line_of: LineOf<'_>,
) -> Result<Data, (usize, String)> {
    Ok(match value {
        DeValue::String(text) => Data::Text(text.into_owned()),
        DeValue::Boolean(value) => Data::Bool(value),
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix());
            Data::Integer(value.map_err(|_| (start, "the number is too large".to_owned()))?)
        }
        DeValue::Float(number) => {
            let value = number.as_str().parse();
            Data::Float(value.map_err(|_| (start, "the number cannot be read".to_owned()))?)
        }
        DeValue::Datetime(time) => Data::Text(time.to_string()),
        DeValue::Table(table) => table_data(table, line_of)?,
        DeValue::Array(values) => {
            let mut nodes = Vec::new();
            for value in values {
                let start = value.span().start;
                let data = value_data(start, value.into_inner(), line_of)?;
                nodes.push(Node { line: line_of(start), name: None, data });
            }
            Data::List(nodes)
        }
    })
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }

    fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let line = self.line(offset);
        let before = text.get(self.0[line - 1]..offset).unwrap_or("");
        (line, before.chars().count() + 1)
    }
}

//! Machine files: reading, checking, overriding and printing a machine's parameters.
//!
//! A machine file is TOML. Beside `name` and `doc` it holds one table a parameter, `[section.name]`, with
//! `value` (with its unit), `doc` and `source`. The model that `nic.model` chooses defines the parameters,
//! its own and those of its hosts, with kinds and ranges; a machine has each of them, and no other. With
//! `base = "NAME"`, missing parameters come from `NAME.toml` in the same folder or among Sunstar's own. That
//! may have a base itself, and be of another model: what its model has no use for, it hands on from its base.

#[macro_use]
pub mod declare;
pub mod hosts;
pub mod quantity;
pub mod schema;

use crate::input;
use crate::models::{Model, Models};
use crate::usage_error::UsageError;
pub use schema::Row;

use des::{Clock, Duration};
use hosts::Cores;
use quantity::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// Keys of a parameter's table.
const FIELDS: &[&str] = &["value", "doc", "source"];
/// The parameter that chooses the others.
pub(crate) const MODEL: &str = "nic.model";
/// Source of an overridden parameter.
const SET: &str = "set on the command line";

/// Origin of a parameter's value, in the one word that the report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A document gives it, or it follows from one.
    Documented,
    /// Chosen beforehand because it is plausible.
    Assumed,
    /// Fitted to a published result.
    Calibrated,
    /// Set by the user.
    Set,
}

impl Role {
    /// All roles, in order.
    pub const ALL: [Role; 4] = [Role::Documented, Role::Assumed, Role::Calibrated, Role::Set];

    fn of(source: &str) -> Role {
        match source {
            SET => Role::Set,
            _ if source.starts_with("assumed") => Role::Assumed,
            _ if source.starts_with("calibrated") => Role::Calibrated,
            _ => Role::Documented,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Documented => "documented",
            Role::Assumed => "assumed",
            Role::Calibrated => "calibrated",
            Role::Set => "set",
        })
    }
}

/// One parameter of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Dotted key.
    pub key: &'static str,
    /// Its value.
    pub value: Value,
    /// The value with its unit, as written.
    pub text: String,
    /// Description.
    pub doc: String,
    /// Source of the value.
    pub source: String,
}

impl Parameter {
    /// The kind of source.
    pub fn role(&self) -> Role {
        Role::of(&self.source)
    }
}

/// Most bases in a chain: a variant of a machine with another network, which builds on one of another model.
const BASES_MAX: u8 = 3;

/// The parameters of a machine, complete and within their ranges.
#[derive(Clone, Debug)]
pub struct Parameters {
    file: PathBuf,
    /// Files of the machines on which it builds, the nearest first.
    bases: Vec<PathBuf>,
    name: String,
    doc: String,
    models: &'static Models,
    model: &'static Model,
    /// In the order of [`Models::rows`].
    list: Vec<Parameter>,
    /// Those of them that have been asked for, of all copies.
    read: Arc<[AtomicBool]>,
    /// Parameters of its bases that its own model does not have, for machines that build on this one.
    handed_on: Vec<Parameter>,
    overrides: Vec<String>,
}

impl Parameters {
    /// Reads and checks a machine file, which may build on another one in its folder.
    pub fn load(models: &'static Models, file: &Path) -> Result<Parameters, UsageError> {
        let own = file.parent().unwrap_or(Path::new(""));
        Parameters::load_among(models, file, own)
    }

    /// The same; it may also build on a machine in the folder `machines`.
    pub fn load_among(
        models: &'static Models,
        file: &Path,
        machines: &Path,
    ) -> Result<Parameters, UsageError> {
        let text = input::text(file).map_err(|error| {
            UsageError::sentence(format!(
                "cannot read the machine file {}: {error}",
                file.display()
            ))
        })?;
        Parameters::parse(models, file, &text, machines)
    }

    /// Checks the text of a machine file; `file` is for messages, and for a machine beside it.
    pub fn parse(
        models: &'static Models,
        file: &Path,
        text: &str,
        machines: &Path,
    ) -> Result<Parameters, UsageError> {
        Reader { models, file, text, machines, bases: BASES_MAX }.parse()
    }

    /// Parses the reader's text.
    fn read(reader: &Reader) -> Result<Parameters, UsageError> {
        let Reader { models, file, text, .. } = *reader;
        let root = DeTable::parse(text).map_err(|error| {
            let why = error.message().replace('\n', ", ");
            reader.usage_error(error.span().map_or(0, |span| span.start), why)
        })?;
        let mut found = Found::default();
        reader.read_top(root.get_ref(), &mut found)?;
        let base = match &found.base {
            Some((name, offset)) => Some(reader.base(name, *offset)?),
            None => None,
        };
        let inherited = |key| base.as_ref()?.has(key).cloned();
        let missing = |key: &str, takes: &dyn fmt::Display| {
            UsageError::sentence(format!("{}: {key} is missing; it takes {takes}", file.display()))
        };
        let top = |value: Option<String>, key| value.ok_or_else(|| missing(key, &"a string"));
        let own = found.list.iter().find(|(parameter, _)| parameter.key == MODEL);
        let chosen = own.map(|(parameter, _)| parameter.clone()).or_else(|| inherited(MODEL));
        let chosen = chosen.ok_or_else(|| missing(MODEL, models.choice()))?;
        let model = models.model(&chosen.text).expect("the schema has the models' names");
        let rows = models.rows(model);
        if let Some((alien, offset)) =
            found.list.iter().find(|(own, _)| rows.iter().all(|row| row.key != own.key))
        {
            return Err(reader.usage_error(*offset, models.foreign(alien.key, model)));
        }
        let mut list = Vec::with_capacity(rows.len());
        for row in &rows {
            let position = found.list.iter().position(|(parameter, _)| parameter.key == row.key);
            let own = position.map(|position| found.list.swap_remove(position).0);
            list.push(own.or_else(|| inherited(row.key)).ok_or_else(|| missing(row.key, row))?);
        }
        let unused = |parameter: &&Parameter| rows.iter().all(|row| row.key != parameter.key);
        let of_base = base.iter().flat_map(|base| base.list.iter().chain(&base.handed_on));
        let handed_on = of_base.filter(unused).cloned().collect();
        Ok(Parameters {
            file: file.to_path_buf(),
            bases: base.map(|base| [vec![base.file], base.bases].concat()).unwrap_or_default(),
            name: top(found.name, "name")?,
            doc: top(found.doc, "doc")?,
            models,
            model,
            read: list.iter().map(|_| AtomicBool::new(false)).collect(),
            list,
            handed_on,
            overrides: Vec::new(),
        })
    }

    /// A parameter for a machine that builds on this one.
    fn has(&self, key: &str) -> Option<&Parameter> {
        self.list.iter().chain(&self.handed_on).find(|parameter| parameter.key == key)
    }

    /// Files of the machines that this one builds on, the nearest first.
    pub fn bases(&self) -> impl Iterator<Item = &Path> {
        self.bases.iter().map(PathBuf::as_path)
    }

    /// Overrides one parameter: `host.kernel_entry=200 ns`.
    pub fn set(&mut self, assignment: &str) -> Result<(), UsageError> {
        let usage_error = |why: String| UsageError::sentence(format!("--set {assignment}: {why}"));
        let (key, text) = assignment.split_once('=').ok_or_else(|| {
            usage_error("it must read KEY=VALUE, as in host.kernel_entry=200ns".into())
        })?;
        let (key, text) = (key.trim(), text.trim());
        let row = self
            .models
            .row(key)
            .ok_or_else(|| usage_error(self.models.unknown(key).to_string()))?;
        if key == MODEL {
            let why = "the model says which parameters there are; choose another machine".into();
            return Err(usage_error(why));
        }
        let value =
            row.parse(text).map_err(|why| usage_error(format!("{key} is \"{text}\": {why}")))?;
        if key == Cores::ranks_per_node && !self.is_set(key) {
            let model = self.model.name;
            return match value {
                // To say so is no mistake.
                Value::Count(1) => Ok(()),
                _ => {
                    let why = format!("machines of model {model} have one rank on each node");
                    Err(usage_error(why))
                }
            };
        }
        let parameter = self.list.iter_mut().find(|parameter| parameter.key == row.key);
        let parameter =
            parameter.ok_or_else(|| usage_error(self.models.foreign(key, self.model)))?;
        parameter.value = value;
        parameter.text = text.to_string();
        parameter.source = SET.to_string();
        self.overrides.push(format!("{key}={text}"));
        Ok(())
    }

    /// The machine's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Description of the machine, in a line.
    pub fn doc(&self) -> &str {
        &self.doc
    }
    /// The model of its network interfaces and of what joins them.
    pub fn model(&self) -> &'static Model {
        self.model
    }
    /// All models.
    pub fn models(&self) -> &'static Models {
        self.models
    }
    /// File from which it was read.
    pub fn file(&self) -> &Path {
        &self.file
    }
    /// Overrides, as `key=value`, in order.
    pub fn overrides(&self) -> &[String] {
        &self.overrides
    }
    /// All parameters.
    pub fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.list.iter()
    }
    /// Number of parameters with each role, in the order of [`Role::ALL`].
    pub fn roles(&self) -> [(Role, usize); 4] {
        Role::ALL.map(|role| (role, self.list.iter().filter(|p| p.role() == role).count()))
    }

    /// True if machines of its model have this parameter.
    pub fn is_set(&self, key: &str) -> bool {
        self.list.iter().any(|parameter| parameter.key == key)
    }
    /// Parameters that do nothing with the values of the others.
    pub fn idle(&self) -> impl Iterator<Item = &'static str> + '_ {
        let keys = self.list.iter().map(|parameter| parameter.key);
        keys.filter(|key| (self.model.idle)(self, key))
    }
    /// Parameters that nobody has asked for until now, neither of this machine nor of a copy of it.
    pub fn unread(&self) -> impl Iterator<Item = &'static str> + '_ {
        let unread = self.list.iter().zip(&*self.read).filter(|(_, read)| !read.load(Relaxed));
        // The model was chosen when the machine was read.
        unread.map(|(parameter, _)| parameter.key).filter(|key| *key != MODEL)
    }

    fn value(&self, key: &str) -> Value {
        let place = self.list.iter().position(|parameter| parameter.key == key);
        let place = place.unwrap_or_else(|| panic!("{key} is not in the schema"));
        self.read[place].store(true, Relaxed);
        self.list[place].value
    }
    /// A duration.
    pub fn duration(&self, key: &str) -> Duration {
        match self.value(key) {
            Value::Duration(duration) => duration,
            other => panic!("{key} is not a duration but {other:?}"),
        }
    }
    /// A frequency in hertz.
    pub fn frequency(&self, key: &str) -> u64 {
        match self.value(key) {
            Value::Frequency(hertz) => hertz,
            other => panic!("{key} is not a frequency but {other:?}"),
        }
    }
    /// A clock of a frequency.
    pub fn clock(&self, key: &str) -> Clock {
        Clock::from_hz(self.frequency(key))
    }
    /// A size in bytes, a rate in bytes a second, cycles or a count, as any integer type that the schema's
    /// range fits.
    pub fn number<N: TryFrom<u64>>(&self, key: &str) -> N {
        let number = match self.value(key) {
            Value::Bytes(n) | Value::Rate(n) | Value::Cycles(n) | Value::Count(n) => n,
            other => panic!("{key} is not a plain number but {other:?}"),
        };
        let fits = N::try_from(number).ok();
        fits.unwrap_or_else(|| panic!("the schema's range of {key} is wider than its use"))
    }
    /// A word.
    pub fn choice(&self, key: &str) -> &'static str {
        match self.value(key) {
            Value::Choice(word) => word,
            other => panic!("{key} is not a word but {other:?}"),
        }
    }
    /// True for `on`.
    pub fn switch(&self, key: &str) -> bool {
        match self.value(key) {
            Value::Switch(on) => on,
            other => panic!("{key} is not a switch but {other:?}"),
        }
    }
}

/// Contents of a file.
#[derive(Default)]
struct Found {
    name: Option<String>,
    doc: Option<String>,
    /// Machine that this one builds on, and the offset of its name in the file.
    base: Option<(String, usize)>,
    /// Parameters, each with its offset in the file.
    list: Vec<(Parameter, usize)>,
}

struct Reader<'a> {
    models: &'static Models,
    file: &'a Path,
    text: &'a str,
    /// Folder of machines on which others build, if they are not beside these.
    machines: &'a Path,
    /// Most bases below this one.
    bases: u8,
}

impl Reader<'_> {
    fn parse(&self) -> Result<Parameters, UsageError> {
        Parameters::read(self)
    }

    fn usage_error(&self, offset: usize, why: impl fmt::Display) -> UsageError {
        let line = self.text[..offset].matches('\n').count() + 1;
        UsageError::sentence(format!("{}:{line}: {why}", self.file.display()))
    }

    fn read_top(&self, root: &DeTable<'_>, found: &mut Found) -> Result<(), UsageError> {
        for (key, value) in root.iter() {
            let name = key.get_ref().as_ref();
            match (name, value.get_ref()) {
                ("name", _) => found.name = Some(self.string(name, value)?),
                ("doc", _) => found.doc = Some(self.string(name, value)?),
                ("base", _) => {
                    found.base = Some((self.string(name, value)?, key.span().start));
                }
                (_, DeValue::Table(section)) => self.read_section(name, section, found)?,
                _ => return Err(self.usage_error(key.span().start, self.models.unknown(name))),
            }
        }
        Ok(())
    }

    /// Reads the machine `name` beside this one, or a known one.
    fn base(&self, name: &str, offset: usize) -> Result<Parameters, UsageError> {
        let beside = self.file.with_file_name(format!("{name}.toml"));
        let known = self.machines.join(format!("{name}.toml"));
        let file = if !beside.exists() && known.exists() { known } else { beside };
        let text = input::text(&file).map_err(|error| {
            self.usage_error(offset, format!("base: cannot read {}: {error}", file.display()))
        })?;
        // Few levels are enough, and cannot go in circles.
        let nested = self.bases == 1
            && DeTable::parse(&text).is_ok_and(|root| root.get_ref().contains_key("base"));
        if nested {
            let why = format!("base: {} builds on another machine itself", file.display());
            return Err(self.usage_error(offset, why));
        }
        Reader { file: &file, text: &text, bases: self.bases - 1, ..*self }.parse()
    }

    /// Reads the parameters below `path`.
    fn read_section(
        &self,
        path: &str,
        section: &DeTable<'_>,
        found: &mut Found,
    ) -> Result<(), UsageError> {
        for (key, value) in section.iter() {
            let path = format!("{path}.{}", key.get_ref());
            let row = self.models.row(&path);
            match (row, value.get_ref()) {
                (Some(row), DeValue::Table(table)) => {
                    let at = key.span().start;
                    found.list.push((self.read_parameter(row, at, table)?, at));
                }
                (Some(row), _) => {
                    let why =
                        format!("it must be a table [{}] with value, doc and source", row.key);
                    return Err(self.usage_error(key.span().start, format!("{path}: {why}")));
                }
                (None, DeValue::Table(table)) if !table.contains_key("value") => {
                    self.read_section(&path, table, found)?;
                }
                (None, _) => {
                    return Err(self.usage_error(key.span().start, self.models.unknown(&path)))
                }
            }
        }
        Ok(())
    }

    fn read_parameter(
        &self,
        row: &'static Row,
        offset: usize,
        table: &DeTable<'_>,
    ) -> Result<Parameter, UsageError> {
        let key = row.key;
        if let Some((field, _)) =
            table.iter().find(|(f, _)| !FIELDS.contains(&f.get_ref().as_ref()))
        {
            let why =
                format!("{key} has no field {}; it has value, doc and source", field.get_ref());
            return Err(self.usage_error(field.span().start, why));
        }
        let field = |name: &str| {
            let why = || self.usage_error(offset, format!("{key} has no {name}"));
            table.get(name).ok_or_else(why)
        };
        let value = table.get("value").ok_or_else(|| {
            self.usage_error(offset, format!("{key} has no value; it takes {row}"))
        })?;
        let text = self.value_text(row, value)?;
        let parsed = row.parse(&text).map_err(|why| {
            self.usage_error(value.span().start, format!("{key} is \"{text}\": {why}"))
        })?;
        let doc = self.string(&format!("the doc of {key}"), field("doc")?)?;
        let source = self.string(&format!("the source of {key}"), field("source")?)?;
        if source.trim().is_empty() || source == SET {
            let why = format!("the source of {key} must say where the value comes from");
            return Err(self.usage_error(field("source")?.span().start, why));
        }
        Ok(Parameter { key, value: parsed, text, doc, source })
    }

    /// Text of a value, which may be a string or, if it needs no unit, a TOML integer.
    fn value_text(&self, row: &Row, value: &Spanned<DeValue<'_>>) -> Result<String, UsageError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.trim().to_string()),
            DeValue::Integer(integer) if integer.radix() == 10 => Ok(integer.as_str().to_string()),
            _ => {
                let written = &self.text[value.span()];
                let why = format!("{} is {written}: it must be a string, {row}", row.key);
                Err(self.usage_error(value.span().start, why))
            }
        }
    }

    fn string(&self, what: &str, value: &Spanned<DeValue<'_>>) -> Result<String, UsageError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.usage_error(value.span().start, format!("{what} must be a string"))),
        }
    }
}

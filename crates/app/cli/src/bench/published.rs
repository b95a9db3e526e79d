//! Published results, as data (published/*.toml), and the measured results beside them.

use machine::input;
use machine::parameters::Parameters;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// Use of a published result for the machine that is compared with it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// One parameter of the machine may be fitted to it. Until one is, it is predicted.
    Calibration,
    /// No parameter is ever fitted to it.
    Prediction,
    /// Reported beside the others; nothing aims at it.
    Report,
    /// The machine's parameters contain it, so there is nothing to measure.
    Input,
}

/// Relative difference from which a result counts as missed, unless its file says otherwise.
pub const MISS: f64 = 0.1;

fn miss() -> f64 {
    MISS
}

/// One published result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Citation key and a name: `pedretti2005.latency`.
    pub id: String,
    /// Citation key.
    pub paper: String,
    /// Section, figure or table.
    #[serde(rename = "where")]
    pub place: String,
    /// Quantity, in a few words.
    pub quantity: String,
    /// Unit of `value` and `range`; empty for ratios and counts.
    pub unit: String,
    /// The published number.
    pub value: Option<f64>,
    /// The least and the greatest number, if there are two.
    pub range: Option<[f64; 2]>,
    /// Conditions of the measurement.
    pub conditions: String,
    /// Workload that measures it here.
    pub workload: String,
    /// Name of the measurement within the workload; absent if it is not measured (yet).
    pub measurement: Option<String>,
    /// Use of the result for the machine.
    pub role: Role,
    /// Reason for which it is missed, if it is: a sentence that is printed beside the numbers.
    pub missed_because: Option<String>,
    /// Relative difference from which it counts as missed; given once in its file.
    #[serde(skip)]
    pub within: f64,
}

/// The results of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// `nic.model` of the machines that are compared with them.
    model: String,
    /// Relative difference from which its results count as missed.
    #[serde(default = "miss")]
    within: f64,
    result: Vec<Published>,
}

impl Published {
    /// All results with which a machine is compared, paper by paper in the order of their keys.
    pub fn of_machine(root: &Root, machine: &Parameters) -> Result<Vec<Published>, UsageError> {
        let model = machine.model().name;
        let papers = papers(root)?.into_iter().filter(|paper| paper.model == model);
        Ok(papers.flat_map(|paper| paper.result).collect())
    }

    /// Error of a machine with which no published result is compared.
    pub fn none_of(root: &Root, machine: &Parameters) -> Result<UsageError, UsageError> {
        let models: BTreeSet<String> = papers(root)?.into_iter().map(|paper| paper.model).collect();
        let models: Vec<String> = models.into_iter().collect();
        Ok(UsageError::sentence(format!(
            "there are no published results for machine {} (model {}); there are some for machines \
             of models {}",
            machine.name(),
            machine.model().name,
            models.join(", ")
        )))
    }

    /// All results of one paper.
    pub fn of_paper(root: &Root, paper: &str) -> Result<Vec<Published>, UsageError> {
        of_file(&root.path().join(format!("published/{paper}.toml"))).map(|paper| paper.result)
    }

    /// The published number, or the ends of a range.
    pub fn number(&self) -> Option<Number> {
        self.value.map(Number::One).or(self.range.map(Number::Range))
    }

    /// Ratio of a measured number to the published one; to the nearer end of a range, 1 inside of it.
    pub fn ratio(&self, measured: f64) -> Option<f64> {
        let nearest = match (self.value, self.range) {
            (Some(value), _) => value,
            (None, Some([least, most])) => measured.clamp(least, most),
            (None, None) => return None,
        };
        (nearest != 0.0).then(|| measured / nearest)
    }

    /// The role of a measurement on a machine: `calibrated` if a parameter is fitted to this very result.
    pub fn role_on(&self, machine: &Parameters) -> &'static str {
        let fitted = |source: &str| {
            let rest =
                source.strip_prefix("calibrated on ").and_then(|s| s.strip_prefix(&*self.id));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ', ',']))
        };
        match self.role {
            Role::Report => "reported",
            Role::Input => "input",
            _ if machine.iter().any(|parameter| fitted(&parameter.source)) => "calibrated",
            _ => "predicted",
        }
    }

    /// Comparison with the measured numbers, by the measurements' names.
    pub fn compare(
        &self,
        measured: &BTreeMap<String, f64>,
        machine: &Parameters,
    ) -> Option<Comparison> {
        let name = self.measurement.as_ref();
        let simulated = name.and_then(|name| measured.get(name)).copied();
        Some(Comparison {
            id: self.id.clone(),
            paper: self.paper.clone(),
            place: self.place.clone(),
            quantity: self.quantity.clone(),
            unit: self.unit.clone(),
            published: self.number()?,
            simulated,
            ratio: simulated.and_then(|simulated| self.ratio(simulated)),
            role: self.role_on(machine),
            missed_because: self.missed_because.clone(),
            within: self.within,
        })
    }
}

/// A published result beside the simulated one.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Citation key and name of the published result.
    pub id: String,
    /// Citation key.
    pub paper: String,
    /// Section or figure.
    #[serde(rename = "where")]
    pub place: String,
    /// Quantity.
    pub quantity: String,
    /// Unit of `published` and `simulated`.
    pub unit: String,
    /// Published number.
    pub published: Number,
    /// Measured number; absent if nothing measures it.
    pub simulated: Option<f64>,
    /// Simulated over published; over the nearer end of a range, 1 inside of it.
    pub ratio: Option<f64>,
    /// `calibrated`, `predicted` or `reported`.
    pub role: &'static str,
    /// Reason for which it is missed, if it is and the reason is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_because: Option<String>,
    /// Relative difference from which it counts as missed.
    #[serde(skip)]
    pub within: f64,
}

/// A published number, or the least and the greatest of several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// The published number.
    One(f64),
    /// The least and the greatest.
    Range([f64; 2]),
}

impl Number {
    /// The number with its unit.
    pub fn text(&self, unit: &str) -> String {
        let number = match self {
            Number::One(value) => value.to_string(),
            Number::Range([least, most]) => format!("{least} to {most}"),
        };
        format!("{number} {unit}").trim().to_string()
    }
}

impl Comparison {
    /// True if the ratio differs from 1 by more than `within`.
    pub fn missed(&self) -> bool {
        self.ratio.is_some_and(|ratio| (ratio - 1.0).abs() > self.within)
    }

    /// Published number, with its unit.
    pub fn published_text(&self) -> String {
        self.published.text(&self.unit)
    }
}

/// Compares results with measured numbers, in the order of their file. Results that the machine's parameters
/// contain are left out: there, both sides are the same.
pub fn compare(
    published: &[Published],
    measured: &BTreeMap<String, f64>,
    machine: &Parameters,
) -> Vec<Comparison> {
    let wanted = published.iter().filter(|result| result.role != Role::Input);
    wanted.filter_map(|result| result.compare(measured, machine)).collect()
}

/// Reason for which a file of published results cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
enum PublishedError {
    /// It is not in the format.
    #[error("{}", .0.to_string().trim().replace('\n', " "))]
    Format(toml::de::Error),
    /// Nobody could repeat a result.
    #[error("{id} must say its conditions and what measures it")]
    Conditions { id: String },
    /// A result has no number, or two.
    #[error("{id} must have either a value or a range")]
    Number { id: String },
    /// A result has not its paper's name.
    #[error("{id} must be named {paper}.something")]
    Name { id: String, paper: String },
}

/// All papers, in the order of their keys.
fn papers(root: &Root) -> Result<Vec<File>, UsageError> {
    let folder = root.path().join("published");
    let entries =
        std::fs::read_dir(&folder).map_err(|why| UsageError::with_file("read", &folder, why))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files.iter().map(|file| of_file(file)).collect()
}

fn of_file(file: &Path) -> Result<File, UsageError> {
    let text = input::text(file).map_err(|why| UsageError::with_file("read", file, why))?;
    parse(&text).map_err(|why| UsageError::with_file("use", file, why))
}

fn parse(text: &str) -> Result<File, PublishedError> {
    let mut file: File = toml::from_str(text).map_err(PublishedError::Format)?;
    let within = file.within;
    file.result.iter_mut().for_each(|result| result.within = within);
    for result in &file.result {
        let id = || result.id.clone();
        // What has a measurement says how a user repeats it, and what has none says why.
        // A machine that is not on the bench yet is measured by its parts' tests.
        let tells = |how: &str| result.workload.starts_with(how);
        let told = match result.measurement {
            Some(_) => tells("sunstar "),
            None => result.role == Role::Input || tells("none yet: ") || tells("cargo test "),
        };
        if !told || result.conditions.is_empty() {
            return Err(PublishedError::Conditions { id: id() });
        }
        if result.value.is_some() == result.range.is_some() {
            return Err(PublishedError::Number { id: id() });
        }
        if result.id.strip_prefix(&*result.paper).is_none_or(|name| !name.starts_with('.')) {
            return Err(PublishedError::Name { id: id(), paper: result.paper.clone() });
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn here() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap()
    }

    fn redstorm() -> Parameters {
        Parameters::load(&models::MODELS, &here().join("machines/redstorm.toml")).unwrap()
    }

    fn all() -> Vec<Published> {
        ["brightwell2007", "pedretti2005"]
            .iter()
            .flat_map(|paper| {
                of_file(&here().join(format!("published/{paper}.toml"))).unwrap().result
            })
            .collect()
    }

    /// Reads all files, also those of papers whose machines do not exist here.
    #[test]
    fn every_file_can_be_read_and_each_machine_has_its_own() {
        let files = std::fs::read_dir(here().join("published")).unwrap();
        let files: Vec<File> = files.map(|file| of_file(&file.unwrap().path()).unwrap()).collect();
        assert!(files.iter().any(|file| file.model == "rdma" && !file.result.is_empty()));
        let root = Root::at(here());
        let own = Published::of_machine(&root, &redstorm()).unwrap();
        assert_eq!(own.len(), all().len());
    }

    #[test]
    fn results_are_complete_and_each_is_there_once() {
        let results = all();
        let ids: BTreeSet<&str> = results.iter().map(|result| &*result.id).collect();
        assert_eq!(ids.len(), results.len());
        for result in &results {
            let place = ["s", "Fig. ", "slide "].iter().any(|word| result.place.starts_with(word));
            assert!(place, "{result:?}");
            // Both are in one line of a table.
            let number = result.compare(&BTreeMap::new(), &redstorm()).unwrap().published_text();
            let columns = result.quantity.chars().count() + 1 + number.chars().count();
            assert!(!result.quantity.is_empty() && columns <= 43, "{result:?}");
        }
    }

    #[test]
    fn exactly_four_results_may_be_calibrated_on() {
        let results = all();
        let targets = results.iter().filter(|result| result.role == Role::Calibration);
        let ids: Vec<&str> = targets.map(|result| &*result.id).collect();
        assert_eq!(
            ids,
            ["latency", "caching-inline", "interrupt", "bandwidth"]
                .map(|name| format!("pedretti2005.{name}"))
        );
    }

    #[test]
    fn a_result_is_predicted_until_a_parameter_is_fitted_to_it() {
        let file = here().join("machines/redstorm.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let results = all();
        let find = |id: &str| results.iter().find(|result| result.id == id).unwrap();
        let interrupt = find("pedretti2005.interrupt");
        let source = "calibrated on pedretti2005.interrupt: one interrupt less";
        let fitted =
            text.replacen("source = \"assumed: interrupt message", "source = \"assumed:", 1);
        let fitted = fitted.replacen("[host.interrupt_entry]", "[host.interrupt_entry]\n#", 1);
        let line = fitted.lines().skip_while(|line| *line != "[host.interrupt_entry]");
        let old = line.into_iter().find(|line| line.starts_with("source = ")).unwrap().to_owned();
        let fitted = fitted.replacen(&old, &format!("source = \"{source}\""), 1);
        let machine = Parameters::parse(&models::MODELS, &file, &fitted, Path::new("")).unwrap();
        assert_eq!(interrupt.role_on(&machine), "calibrated");
        assert_eq!(find("pedretti2005.shadow-fifos").role_on(&machine), "predicted");
        assert_eq!(find("pedretti2005.original").role_on(&machine), "reported");
    }

    #[test]
    fn ratios_and_texts() {
        let machine = redstorm();
        let mut result = all().remove(0);
        (result.unit, result.measurement) = ("us".into(), Some("it".into()));
        let compare = |result: &Published, simulated| {
            let measured = BTreeMap::from([("it".to_owned(), simulated)]);
            result.compare(&measured, &machine).unwrap()
        };
        (result.value, result.range) = (Some(2.0), None);
        let three = compare(&result, 3.0);
        assert_eq!((three.ratio, &*three.published_text()), (Some(1.5), "2 us"));
        assert!(three.missed() && !compare(&result, 1.9).missed());
        (result.value, result.range) = (None, Some([2.0, 4.0]));
        let ratios = [1.0, 3.0, 8.0].map(|simulated| compare(&result, simulated).ratio);
        assert_eq!(ratios, [Some(0.5), Some(1.0), Some(2.0)]);
        assert_eq!(compare(&result, 3.0).published_text(), "2 to 4 us");
        // Nothing measures it: no ratio, and so no miss.
        let none = result.compare(&BTreeMap::new(), &machine).unwrap();
        assert!(none.simulated.is_none() && none.ratio.is_none() && !none.missed());
    }

    #[test]
    fn what_is_wrong_in_the_file_is_told() {
        let why = parse("[[result]]\nid = \"x\"\n").unwrap_err().to_string();
        assert!(why.contains("missing field") && !why.contains('\n'), "{why}");
        let file = here().join("published/pedretti2005.toml");
        let text = std::fs::read_to_string(file).unwrap();
        let wrong = text.replacen("workload = \"sunstar", "workload = \"", 1);
        assert_eq!(
            parse(&wrong).unwrap_err().to_string(),
            "pedretti2005.latency must say its conditions and what measures it"
        );
        let (id, paper) = ("pedretti2005.latency".to_owned(), "brightwell2007".to_owned());
        assert_eq!(
            PublishedError::Number { id: id.clone() }.to_string(),
            "pedretti2005.latency must have either a value or a range"
        );
        assert_eq!(
            PublishedError::Name { id, paper }.to_string(),
            "pedretti2005.latency must be named brightwell2007.something"
        );
    }
}

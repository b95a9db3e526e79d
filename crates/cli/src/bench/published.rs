//! Published results, as data: published/*.toml.

use crate::mistake::Mistake;
use crate::root::Root;
use machine::parameters::Parameters;
use serde::{Deserialize, Serialize};

/// What a published result is to the machine that is held against it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// One parameter of the machine may be fitted to it. Until one is, it is predicted.
    Calibration,
    /// Nothing is ever fitted to it.
    Prediction,
    /// Told beside the others, without any aim.
    Report,
    /// The machine's parameters contain it, so there is nothing to measure.
    Input,
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
    /// What it is a result of, in a few words.
    pub quantity: String,
    /// Unit of `value` and `range`; empty for ratios and counts.
    pub unit: String,
    /// The number.
    pub value: Option<f64>,
    /// The least and the greatest number, if there are two.
    pub range: Option<[f64; 2]>,
    /// Under which conditions it was measured.
    pub conditions: String,
    /// What measures it here.
    pub workload: String,
    /// Name of the measurement within the workload; absent if it is not measured (yet).
    pub measurement: Option<String>,
    /// What it is to the machine.
    pub role: Role,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    result: Vec<Published>,
}

impl Published {
    /// All results of one paper.
    pub fn of_paper(root: &Root, paper: &str) -> Result<Vec<Published>, Mistake> {
        let file = root.path().join(format!("published/{paper}.toml"));
        let text =
            std::fs::read_to_string(&file).map_err(|why| Mistake::with_file("read", &file, why))?;
        parse(&text).map_err(|why| Mistake::with_file("use", &file, why))
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

    /// Value or range with its unit.
    pub fn text(&self) -> String {
        let number = match (self.value, self.range) {
            (Some(value), _) => value.to_string(),
            (None, Some([least, most])) => format!("{least} to {most}"),
            (None, None) => String::new(),
        };
        format!("{number} {}", self.unit).trim().to_string()
    }
}

fn parse(text: &str) -> Result<Vec<Published>, String> {
    let file: File =
        toml::from_str(text).map_err(|why| why.to_string().trim().replace('\n', " "))?;
    for result in &file.result {
        if result.value.is_some() == result.range.is_some() {
            return Err(format!("{} must have either a value or a range", result.id));
        }
        if result.id.strip_prefix(&*result.paper).is_none_or(|name| !name.starts_with('.')) {
            return Err(format!("{} must be named {}.something", result.id, result.paper));
        }
    }
    Ok(file.result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn here() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
    }

    fn all() -> Vec<Published> {
        let text = std::fs::read_to_string(here().join("published/pedretti2005.toml")).unwrap();
        parse(&text).unwrap()
    }

    #[test]
    fn results_are_complete_and_each_is_there_once() {
        let results = all();
        let ids: BTreeSet<&str> = results.iter().map(|result| &*result.id).collect();
        assert_eq!(ids.len(), results.len());
        for result in &results {
            assert!(result.id.starts_with("pedretti2005.") && result.paper == "pedretti2005");
            assert!(result.place.starts_with('s') || result.place.starts_with("Fig"), "{result:?}");
            for text in [&result.quantity, &result.conditions, &result.workload] {
                assert!(!text.is_empty(), "{result:?}");
            }
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
        let machine = Parameters::parse(&file, &fitted).unwrap();
        assert_eq!(interrupt.role_on(&machine), "calibrated");
        assert_eq!(find("pedretti2005.shadow-fifos").role_on(&machine), "predicted");
        assert_eq!(find("pedretti2005.original").role_on(&machine), "reported");
    }

    #[test]
    fn ratios_and_texts() {
        let mut result = all().remove(0);
        (result.value, result.range, result.unit) = (Some(2.0), None, "us".into());
        assert_eq!((result.ratio(3.0), &*result.text()), (Some(1.5), "2 us"));
        (result.value, result.range) = (None, Some([2.0, 4.0]));
        assert_eq!([1.0, 3.0, 8.0].map(|x| result.ratio(x)), [Some(0.5), Some(1.0), Some(2.0)]);
        assert_eq!(result.text(), "2 to 4 us");
    }

    #[test]
    fn what_is_wrong_in_the_file_is_told() {
        let why = parse("[[result]]\nid = \"x\"\n").unwrap_err();
        assert!(why.contains("missing field"), "{why}");
    }
}

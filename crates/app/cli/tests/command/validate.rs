//! `sunstar validate`: every published result is compared with the result of its workload, and only with
//! that.

use crate::json::{assert_documented, paths};
use crate::runner::{root, run, sunstar};
use serde_json::Value;
use std::collections::BTreeSet;

/// The results in published/*.toml that are not the machine's own parameters.
fn published() -> Vec<toml::Table> {
    ["brightwell2007", "pedretti2005"]
        .iter()
        .flat_map(|paper| {
            let file = root().join(format!("published/{paper}.toml"));
            let file: toml::Table =
                toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
            file["result"].as_array().unwrap().clone()
        })
        .map(|result| result.as_table().unwrap().clone())
        .filter(|result| result["role"].as_str() != Some("input"))
        .collect()
}

/// Roles in the output that `role` in published/*.toml allows.
fn roles(role: &str) -> &'static [&'static str] {
    match role {
        "calibration" => &["calibrated", "predicted"],
        "prediction" => &["predicted"],
        "report" => &["reported"],
        other => panic!("a result with role {other}"),
    }
}

#[test]
fn every_published_result_stands_beside_the_simulated_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("validation.json");
    // Long messages, and so the bandwidth, are left out.
    let words = ["validate", "--largest", "16", "--json", file.to_str().unwrap()];
    let ended = sunstar(words);
    let table = &ended.went_well().stdout;
    let all: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let mut keys = BTreeSet::new();
    paths(&all, "", &mut keys);
    assert_documented("validate-json.md", &keys);

    let (all, published) = (all.as_array().unwrap(), published());
    assert_eq!(all.len(), published.len(), "{all:#?}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    for (result, published) in all.iter().zip(&published) {
        for key in ["id", "paper", "where", "quantity", "unit"] {
            assert_eq!(result[key].as_str(), published[key].as_str(), "{result:#}");
        }
        let row = table.lines().find(|row| row.contains(result["quantity"].as_str().unwrap()));
        let row = row.unwrap_or_else(|| panic!("no {} in {table}", result["quantity"]));
        let role = result["role"].as_str().unwrap();
        assert!(roles(published["role"].as_str().unwrap()).contains(&role), "{result:#}");
        assert!(row.contains(role), "{row}");

        let workload = published["workload"].as_str().unwrap();
        let measurement = published.get("measurement").and_then(|name| name.as_str());
        // Long messages are left out above, and this machine's processes are generic.
        let left_out =
            |name: &str| ["bandwidth.", "accelerated."].iter().any(|of| name.starts_with(of));
        let measured = measurement.is_some_and(|name| !left_out(name));
        assert_eq!(workload.starts_with("sunstar "), measurement.is_some(), "{workload}");
        assert_eq!(result["simulated"].is_number(), measured, "{result:#}");
        assert_eq!(result["ratio"].is_number(), measured, "{result:#}");
        let Some(simulated) = result["simulated"].as_f64() else { continue };
        assert!(simulated > 0.0, "{result:#}");
        let ratio = result["ratio"].as_f64().unwrap();
        if let Some(number) = published.get("value") {
            assert_eq!(result["published"].as_f64(), number.as_float());
            assert!((ratio - simulated / number.as_float().unwrap()).abs() < 1e-9, "{result:#}");
        }
        assert_eq!(row.ends_with("miss"), (ratio - 1.0).abs() > 0.1, "{row}");
    } // What is measured is what a user gets who repeats the workload.
    let add = all.iter().find(|result| result["id"] == "brightwell2007.getadd-generic").unwrap();
    let each = format!(" {:.3} us each", add["simulated"].as_f64().unwrap());
    let output = run("-n 2 --quiet examples/portals_getadd.c");
    assert!(output.went_well().stdout.contains(&each), "{each}: {output:?}");
}

/// Machines with which nothing published can be compared say so, and nothing of options that nobody gave.
#[test]
fn machines_without_published_results() {
    let results = |model: &str| {
        let folder = std::fs::read_dir(root().join("published")).unwrap().flatten();
        let mut papers = folder.map(|file| std::fs::read_to_string(file.path()).unwrap());
        papers.any(|paper| paper.contains(&format!("model = \"{model}\"")))
    };
    for machine in ["bell", "ethernet", "example", "ideal", "queuepair"] {
        let file =
            std::fs::read_to_string(root().join(format!("machines/{machine}.toml"))).unwrap();
        let file: toml::Table = toml::from_str(&file).unwrap();
        let model = file["nic"]["model"]["value"].as_str().unwrap().to_owned();
        assert!(!results(&model), "{machine} has published results");
        let ended = sunstar(["validate", "-m", machine, "--largest", "0"]);
        ended.said(2, &["no published results for machine", machine, &model]);
        assert!(!ended.stderr.contains("--set"), "{ended:?}");
        let ended = sunstar(["bench", "ladder", "-m", machine, "--largest", "0"]);
        ended.said(2, &["firmware", machine]);
        assert!(!ended.stderr.contains("--set"), "{ended:?}");
    }
}

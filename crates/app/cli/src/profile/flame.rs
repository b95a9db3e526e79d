//! The flame graph: one SVG file with its script inside, which a browser opens without a network.

use crate::summary::grouped;
use inferno::flamegraph;
use machine::firmware::profile::Summary;
use sunstar::usage_error::UsageError;

/// Work by call path, without the idle polling. Equal profiles give equal images.
pub fn svg(summary: &Summary, title: &str) -> Result<String, UsageError> {
    let mut options = flamegraph::Options::default();
    options.title = title.to_string();
    options.subtitle = Some(format!(
        "{} cycles of work; {} cycles of idle polling are left out",
        grouped(summary.work.total()),
        grouped(summary.idle.total()),
    ));
    options.count_name = "cycles".to_string();
    options.name_type = "Function:".to_string();
    options.deterministic = true;
    let folded: Vec<String> = summary
        .stacks
        .iter()
        .map(|(functions, cycles)| format!("{} {cycles}", functions.join(";")))
        .collect();
    // Nothing to draw is drawn as such.
    let none = ["no work 1"];
    let lines = folded.iter().map(String::as_str);
    let mut image = Vec::new();
    let drawn = if folded.is_empty() {
        flamegraph::from_lines(&mut options, none, &mut image)
    } else {
        flamegraph::from_lines(&mut options, lines, &mut image)
    };
    drawn.map_err(|why| UsageError::sentence(format!("cannot draw the flame graph: {why}")))?;
    String::from_utf8(image)
        .map_err(|why| UsageError::sentence(format!("cannot draw the flame graph: {why}")))
}

//! The page itself: one file, with its style and script inside; nothing else is loaded.

use super::prose::prose;
use crate::run;
use machine::console;
use maud::{html, Markup, PreEscaped, DOCTYPE};
use std::path::Path;
use sunstar::usage_error::UsageError;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("charts.js"));

/// First bytes of every page.
pub const HEAD: &[u8] = b"<!DOCTYPE html>";

/// Content security policy of the page: a browser may only display it. Nothing is fetched, whatever else went
/// wrong.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A page with these parts, each with its name in the list of contents and the id of its section.
pub fn page(title: &str, subtitle: &str, parts: &[(&str, &str, Markup)]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "sunstar " (env!("CARGO_PKG_VERSION")) };
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p class="subtitle" { (prose(subtitle)) }
                    nav aria-label="Contents" {
                        @for (name, id, _) in parts.iter().filter(|(name, ..)| !name.is_empty()) {
                            a href={ "#" (id) } { (name) }
                        }
                    }
                }
                main { @for (_, _, part) in parts { (part) } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Writes a page, or another drawing for a browser, and tells so, but to who wants the program's output only.
pub fn write(file: &Path, text: &str, quiet: bool) -> Result<(), UsageError> {
    run::write(file, text)?;
    if !quiet {
        tell(file);
    }
    Ok(())
}

/// Tells that a drawing was written.
pub fn tell(file: &Path) {
    console::say(&format!("written: {}", file.display()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn everything_that_comes_from_outside_is_escaped() {
        let evil = "<script>alert('x')</script>\"&";
        let part = html! { p title=(evil) { (evil) } };
        let text = page(evil, evil, &[(evil, "part", part)]);
        assert_eq!(text.matches("<script>").count(), 1, "only the page's own: {text}");
        assert_eq!(text.matches("&lt;script&gt;").count(), 6, "{text}");
        // Style and script end where they should.
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</"));
    }

    /// The value of each variable of a colour scheme.
    fn colours(dark: bool) -> BTreeMap<&'static str, [f64; 3]> {
        let (light, rest) = STYLE.split_once("@media (prefers-color-scheme: dark) {").unwrap();
        let (own, _) = rest.split_once("\n}").unwrap();
        let of = |text: &'static str| {
            let lines =
                text.split(';').filter_map(|line| line.rsplit_once("--")?.1.split_once(": #"));
            lines.map(|(name, digits)| {
                let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
                (name, [0, 2, 4].map(|at| f64::from(part(at)) / 255.0))
            })
        };
        of(light).chain(of(own).filter(|_| dark)).collect()
    }

    /// Places that stand beside one another in a bar have colours that differ, light and dark.
    #[test]
    fn no_two_places_share_a_colour() {
        let places = ["host", "hypertransport", "bus", "firmware", "dma", "unit", "network", "dim"];
        for dark in [false, true] {
            let colours = colours(dark);
            for (at, one) in places.iter().enumerate() {
                for other in &places[at + 1..] {
                    let pairs = colours[one].iter().zip(colours[other]);
                    let apart = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    assert!(apart > 0.25, "{one} and {other}, dark {dark}: {apart}");
                }
            }
        }
    }
}

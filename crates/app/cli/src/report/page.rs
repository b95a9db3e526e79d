//! The page itself: one file, with its style and script inside; nothing else is loaded.

use maud::{html, Markup, PreEscaped, DOCTYPE};

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
                    p class="subtitle" { (subtitle) }
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

/// Part with the command that makes the page again.
pub fn again_by(command: &str) -> (&'static str, &'static str, Markup) {
    let section = html! { section id="replay" { h2 { "Again" } p { code { (command) } } } };
    ("Again", "replay", section)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

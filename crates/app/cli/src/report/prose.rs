//! Sentences from files, as the page has them: what stands between backticks is code, and units are those of
//! the page.

use maud::{html, Markup};

/// A sentence as it is on the page.
pub fn prose(text: &str) -> Markup {
    let text = with_units(text);
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without another stays what it is.
    if parts.len() % 2 == 0 {
        return html! { (text) };
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A unit of published/*.toml and of programs' tables as the page writes it.
pub fn unit(unit: &str) -> &str {
    match unit {
        "us" => "µs",
        unit => unit,
    }
}

/// The text with the page's units behind its numbers: `13 us` is `13 µs`.
fn with_units(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(' ') {
        let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let (name, rest) = word.split_at(end);
        let number = |before: &String| before.starts_with(|c: char| c.is_ascii_digit());
        let counts = words.last().is_some_and(number);
        let name = if counts { unit(name) } else { name };
        words.push(format!("{name}{rest}"));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_units_are_those_of_the_page() {
        let shown = |text| prose(text).into_string();
        assert_eq!(shown("see `a < b`, and c"), "see <code>a &lt; b</code>, and c");
        assert_eq!(shown("one ` alone"), "one ` alone");
        assert_eq!(shown("about 13 us, or 2.5 us; 60 ns"), "about 13 µs, or 2.5 µs; 60 ns");
        assert_eq!(shown("tell us, not us"), "tell us, not us");
        assert_eq!(unit("us").to_owned() + unit("MB/s"), "µsMB/s");
    }
}

//! The command that makes a page again, as the page has it.

use super::quoted;
use maud::{html, Markup};
use std::path::Path;

/// Command line that makes a page again.
#[derive(Clone, Debug)]
pub struct Again(Vec<String>);

impl Again {
    /// Command of that name, which may be several words.
    pub fn by(command: &str) -> Again {
        let words = ["sunstar"].into_iter().chain(command.split(' '));
        Again(words.map(str::to_owned).collect())
    }

    /// With an option and its value.
    #[must_use]
    pub fn option(self, name: &str, value: impl ToString) -> Again {
        self.words([name.to_owned(), value.to_string()])
    }

    /// With an option once for each value.
    #[must_use]
    pub fn each(self, name: &str, values: &[String]) -> Again {
        values.iter().fold(self, |again, value| again.option(name, value))
    }

    /// With the file that the page is written to.
    #[must_use]
    pub fn page(self, file: &Path) -> Again {
        self.option("--page", file.display())
    }

    /// With more words.
    #[must_use]
    pub fn words(mut self, words: impl IntoIterator<Item = String>) -> Again {
        self.0.extend(words);
        self
    }

    /// The line, for a shell.
    pub fn line(&self) -> String {
        self.0.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Part of the page with the command.
    pub fn part(&self) -> (&'static str, &'static str, Markup) {
        let section = html! {
            section id="replay" { h2 { "Again" } pre { code { (self.line()) } } }
        };
        ("Again", "replay", section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_and_in_their_order() {
        let settings = ["host.x=20 ns".to_owned(), "net.y=1".to_owned()];
        let again = Again::by("bench dp").each("--set", &settings).page(Path::new("a b.html"));
        let line = "sunstar bench dp --set 'host.x=20 ns' --set net.y=1 --page 'a b.html'";
        assert_eq!(again.line(), line);
    }
}

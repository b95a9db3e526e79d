//! Report of the aids in a run.

use std::collections::BTreeMap;

/// Lines of a run, by rank and key.
#[derive(Clone, Debug, Default)]
pub struct Said {
    values: BTreeMap<(u32, String), String>,
}

impl Said {
    /// Reads `RANK KEY VALUE` a line; what is none is left out.
    pub fn parse(text: &str) -> Said {
        let mut said = Said::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(rank), Some(key)) = (words.next(), words.next()) else { continue };
            let Ok(rank) = rank.parse() else { continue };
            said.values.insert((rank, key.into()), words.collect::<Vec<_>>().join(" "));
        }
        said
    }
    /// Ranks that have said something.
    pub fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self.values.keys().map(|(rank, _)| *rank).collect();
        ranks.dedup();
        ranks
    }
    /// A number; 0 if nothing was said of it.
    pub fn number(&self, rank: u32, key: &str) -> u64 {
        self.text(rank, key).parse().unwrap_or(0)
    }
    /// A word; empty if nothing was said of it.
    pub fn text(&self, rank: u32, key: &str) -> &str {
        self.values.get(&(rank, key.to_string())).map_or("", String::as_str)
    }
    /// Sum of a rank's numbers whose keys end like this.
    pub fn sum(&self, rank: u32, end: &str) -> u64 {
        let of_rank =
            self.values.iter().filter(|((who, key), _)| *who == rank && key.ends_with(end));
        of_rank.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn lines_are_read_and_others_left_out() {
        let said =
            Said::parse("0 a.errors 3\n0 b.errors 4\n1 first none\nsomething else\n\n1 only\n");
        assert_eq!((said.number(0, "a.errors"), said.sum(0, ".errors")), (3, 7));
        assert_eq!((said.text(1, "first"), said.ranks()), ("none", vec![0, 1]));
        assert_eq!((said.number(1, "nothing"), said.text(1, "nothing")), (0, ""));
    }
}

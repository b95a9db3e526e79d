//! A reader of waveforms (VCD: IEEE 1364-2005, clause 18).

use std::collections::HashMap;

/// Changes of each signal, by its name with the scopes before: time and value, in order.
pub struct Vcd {
    pub comment: String,
    pub signals: HashMap<String, Vec<(u64, u128)>>,
    /// First and last time.
    pub times: (u64, u64),
}

impl Vcd {
    /// Reads a file.
    ///
    /// # Panics
    /// If it breaks the format: a change of a signal that is not declared, a time before the one before, a
    /// value that is wider than its signal, scopes that are left open.
    pub fn read(text: &str) -> Vcd {
        let (head, changes) = text.split_once("$enddefinitions $end").expect("a header");
        let mut comment = String::new();
        let (mut scopes, mut declared) = (Vec::new(), HashMap::<&str, (u32, Vec<String>)>::new());
        let mut words = head.split_whitespace();
        while let Some(keyword) = words.next() {
            let body: Vec<&str> = words.by_ref().take_while(|word| *word != "$end").collect();
            match keyword {
                "$scope" => scopes.push(body[1]),
                "$upscope" => assert!(scopes.pop().is_some(), "a scope is closed twice"),
                "$comment" => comment = body.join(" "),
                "$timescale" => assert_eq!(body.concat(), "1ps"),
                "$var" => {
                    let name = format!("{}.{}", scopes.join("."), body[3]);
                    let width = body[1].parse().expect("a width");
                    declared.entry(body[2]).or_insert((width, Vec::new())).1.push(name);
                }
                _ => {}
            }
        }
        assert!(scopes.is_empty(), "{scopes:?} are left open");
        let mut by_id = HashMap::<&str, Vec<(u64, u128)>>::new();
        let (mut now, mut first) = (None, None);
        for line in changes.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(time) = line.strip_prefix('#') {
                let time: u64 = time.parse().expect("a time");
                assert!(now.is_none_or(|now| now < time), "{time} comes after {now:?}");
                (now, first) = (Some(time), first.or(Some(time)));
                continue;
            }
            let (value, id) = match line.strip_prefix('b') {
                Some(vector) => vector.split_once(' ').expect("a vector and its signal"),
                None => line.split_at(1),
            };
            let (width, _) = declared.get(id).unwrap_or_else(|| panic!("{line}: not declared"));
            assert!(value.len() as u32 <= *width, "{line} is wider than {width}");
            // Wider ones are compared by nobody.
            let value = u128::from_str_radix(&value[value.len().saturating_sub(128)..], 2);
            let value = value.unwrap_or_else(|_| panic!("{line}: a two-state model has 0 and 1"));
            by_id.entry(id).or_default().push((now.expect("a time before changes"), value));
        }
        let mut signals = HashMap::new();
        for (id, (_, names)) in declared {
            for name in names {
                signals.insert(name, by_id.get(id).cloned().unwrap_or_default());
            }
        }
        Vcd { comment, signals, times: (first.expect("times"), now.expect("times")) }
    }

    /// Changes of a signal, whose name ends so; the shortest name with this end counts.
    pub fn changes(&self, name: &str) -> &[(u64, u128)] {
        let end = format!(".{name}");
        let found = self.signals.iter().filter(|(full, _)| full.ends_with(&end));
        let found = found.min_by_key(|(full, _)| (full.len(), *full));
        found.unwrap_or_else(|| panic!("no signal {name}")).1
    }
    /// Value at `time`, changes of that time included.
    pub fn at(&self, name: &str, time: u64) -> u128 {
        let changes = self.changes(name);
        let after = changes.partition_point(|(at, _)| *at <= time);
        assert!(after > 0, "{name} has no value at {time}");
        changes[after - 1].1
    }
    /// Times at which a signal comes to be 1 that was 0.
    pub fn rises(&self, name: &str) -> Vec<u64> {
        let pairs = self.changes(name).windows(2);
        pairs.filter(|pair| pair[0].1 == 0 && pair[1].1 == 1).map(|pair| pair[1].0).collect()
    }
}

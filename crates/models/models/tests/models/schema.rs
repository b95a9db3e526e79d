//! The rows of all models.

use machine::parameters::quantity::ValueKind;
use machine::parameters::Row;
use models::MODELS;

#[test]
fn ranges_can_be_read_and_keys_are_unique() {
    let rows: Vec<&Row> = MODELS.all().collect();
    for (index, row) in rows.iter().enumerate() {
        if row.range != ("", "") {
            let [least, most] = [row.range.0, row.range.1].map(|end| row.kind.parse(end).unwrap());
            assert!(least.number().unwrap() <= most.number().unwrap(), "{}", row.key);
        }
        let numeric = !matches!(row.kind, ValueKind::Choice(_) | ValueKind::Switch);
        assert_eq!(numeric, row.range != ("", ""), "{}", row.key);
        // Models that have the same part have the same rows of it.
        for other in rows[..index].iter().filter(|other| other.key == row.key) {
            assert_eq!((other.kind, other.range), (row.kind, row.range), "{}", row.key);
        }
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
        assert!(row.key.contains('.') && row.key.chars().all(word), "{}", row.key);
    }
}

#[test]
fn a_model_has_a_row_once_and_none_of_its_hosts() {
    for model in MODELS.iter() {
        let rows = model.rows;
        for (index, row) in rows.iter().enumerate() {
            let before = rows[..index].iter().chain(model.hosts);
            assert!(before.into_iter().all(|other| other.key != row.key), "{}", row.key);
        }
    }
}

#[test]
fn a_machine_names_a_model_that_there_is() {
    let names = MODELS.iter().map(|model| model.name).collect::<Vec<_>>();
    assert_eq!(
        names,
        [
            "seastar",
            "ideal",
            "example",
            "queuepair",
            "rdma",
            "myrinet",
            "ethernet",
            "bell",
            "offload",
            "offload-mesh"
        ]
    );
    assert_eq!(MODELS.row("nic.model").unwrap().kind, ValueKind::Choice(names.leak()));
}

#[test]
fn nearest_finds_slips_and_leaves_strangers() {
    assert_eq!(MODELS.nearest("host.kernel_entri"), ["host.kernel_entry"]);
    assert_eq!(MODELS.nearest("pcp440.clock"), ["ppc440.clock"]);
    assert_eq!(MODELS.nearest("host.interrupt"), ["host.interrupt_entry"]);
    assert_eq!(MODELS.nearest("link_latency"), ["net.link_latency"]);
    assert!(MODELS.nearest("completely.different").is_empty());
    assert!(MODELS.nearest("portals").is_empty());
}

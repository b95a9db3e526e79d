//! Reading, checking and overriding the parameters of machines.

use crate::machines;
use des::Duration;
use machine::models::Model;
use machine::parameters::quantity::ValueKind;
use machine::parameters::{Parameters, Role};
use models::MODELS;
use std::fmt::Write as _;
use std::path::Path;

const MODEL: &str = "nic.model";

/// A complete machine file of the first model with the least allowed values.
fn complete() -> String {
    complete_of(MODELS.iter().next().unwrap())
}

/// The same of any model.
fn complete_of(model: &'static Model) -> String {
    let mut text = "name = \"m\"\ndoc = \"d\"\n".to_string();
    for row in MODELS.rows(model) {
        let value = match row.kind {
            _ if row.key == MODEL => model.name,
            ValueKind::Choice(words) => words[0],
            ValueKind::Switch => "on",
            _ => row.range.0,
        };
        write!(text, "[{}]\nvalue = \"{value}\"\ndoc = \"d\"\nsource = \"s\"\n", row.key).unwrap();
    }
    text
}

fn wrong(text: &str) -> String {
    Parameters::parse(&MODELS, Path::new("m.toml"), text, Path::new(""))
        .expect_err("a mistake")
        .to_string()
}

/// The complete file with the table of host.kernel_entry (lines after its head) replaced.
fn with_kernel_entry(table: &str) -> (String, usize) {
    let text = complete();
    let head = text.find("[host.kernel_entry]\n").unwrap();
    let end = head + 1 + text[head + 1..].find('[').unwrap();
    let line = text[..head].matches('\n').count() + 1;
    (format!("{}{table}{}", &text[..head], &text[end..]), line)
}

#[test]
fn the_shipped_machines_load() {
    let mut machines: Vec<_> =
        std::fs::read_dir(machines()).unwrap().map(|e| e.unwrap().path()).collect();
    machines.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    assert!(!machines.is_empty());
    for file in machines {
        let machine =
            Parameters::load(&MODELS, &file).unwrap_or_else(|usage_error| panic!("{usage_error}"));
        assert_eq!(file.file_stem().unwrap().to_str(), Some(machine.name()));
        for parameter in machine.iter() {
            assert!(parameter.doc.ends_with('.'), "{}: {}", parameter.key, parameter.doc);
            assert!(parameter.source.len() > 4, "{} has a source", parameter.key);
            // A document that gives half of a value does not give it.
            let says = parameter.source.contains("assumed");
            assert!(!says || parameter.role() != Role::Documented, "{}", parameter.key);
        }
        let roles = machine.roles();
        assert_eq!(
            roles.iter().map(|(_, count)| count).sum::<usize>(),
            MODELS.rows(machine.model()).len()
        );
        assert_eq!(roles[3], (Role::Set, 0));
    }
}

#[test]
fn values_come_out_by_type_and_can_be_overridden() {
    let mut machine = Parameters::load(&MODELS, &machines().join("redstorm.toml")).unwrap();
    machine.set("host.kernel_entry=200 ns").unwrap();
    machine.set("firmware.inline = off").unwrap();
    machine.set("ppc440.clock=0.4GHz").unwrap();
    assert_eq!(machine.duration("host.kernel_entry"), Duration::from_ns(200));
    assert!(!machine.switch("firmware.inline"));
    assert_eq!(machine.clock("ppc440.clock").hz(), 400_000_000);
    let overrides = ["host.kernel_entry=200 ns", "firmware.inline=off", "ppc440.clock=0.4GHz"];
    assert_eq!(machine.overrides(), overrides);
    let entry = machine.iter().find(|p| p.key == "host.kernel_entry").unwrap();
    assert_eq!((entry.text.as_str(), entry.role()), ("200 ns", Role::Set));
    assert_eq!(machine.roles()[3], (Role::Set, 3));
}

#[test]
fn mistakes_in_overrides_are_one_sentence() {
    let mut machine = Parameters::load(&MODELS, &machines().join("redstorm.toml")).unwrap();
    let mut wrong = |text: &str| machine.set(text).expect_err("a mistake").to_string();
    assert_eq!(
        wrong("host.kernel_entrie=1 ns"),
        "--set host.kernel_entrie=1 ns: there is no parameter host.kernel_entrie; did you mean \
         host.kernel_entry?"
    );
    assert_eq!(
        wrong("host.kernel_entry=2 s"),
        "--set host.kernel_entry=2 s: host.kernel_entry is \"2 s\": the unit s does not fit; allowed \
         is a duration (a number with ps, ns, us or ms)"
    );
    assert_eq!(
        wrong("host.kernel_entry=2 ms"),
        "--set host.kernel_entry=2 ms: host.kernel_entry is \"2 ms\": allowed is 0 ns to 1 ms"
    );
    assert!(wrong("firmware.inline").contains("it must read KEY=VALUE"));
    assert!(wrong("firmware.inline=maybe").ends_with("allowed is on or off"));
    assert!(machine.overrides().is_empty());
}

#[test]
fn algorithms_are_those_that_the_library_has() {
    for collective in mpi::Algorithms::COLLECTIVES {
        let row = MODELS.row(&format!("mpi.{collective}")).unwrap();
        let names: Vec<_> = mpi::Algorithms::of(collective).iter().map(|(name, _)| *name).collect();
        assert_eq!(row.kind, ValueKind::Choice(names.leak()));
    }
}

#[test]
fn a_complete_file_is_accepted() {
    Parameters::parse(&MODELS, Path::new("m.toml"), &complete(), Path::new("")).unwrap();
}

#[test]
fn every_key_must_be_there() {
    let keys =
        MODELS.iter().flat_map(|model| MODELS.rows(model).into_iter().map(move |row| (model, row)));
    for (model, row) in keys {
        let text = complete_of(model);
        let head = text.find(&format!("[{}]", row.key)).unwrap();
        let end = text[head + 1..].find('[').map_or(text.len(), |end| head + 1 + end);
        let text = format!("{}{}", &text[..head], &text[end..]);
        assert_eq!(wrong(&text), format!("m.toml: {} is missing; it takes {row}", row.key));
    }
    for key in ["name", "doc"] {
        let text: Vec<String> = complete().lines().map(String::from).collect();
        let text: Vec<_> =
            text.iter().enumerate().filter(|(i, l)| *i > 1 || !l.starts_with(key)).collect();
        let text: Vec<&str> = text.into_iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(wrong(&text.join("\n")), format!("m.toml: {key} is missing; it takes a string"));
    }
}

#[test]
fn mistakes_in_files_name_file_line_and_key() {
    let good = "value = \"1 ns\"\ndoc = \"d\"\nsource = \"s\"\n";
    let cases = [
        (format!("[host.kernel_entri]\n{good}"), 0, "there is no parameter host.kernel_entri; did you mean host.kernel_entry?"),
        (format!("[hoist]\n[hoist.x]\n{good}"), 1, "there is no parameter hoist.x; \"sunstar machines NAME\" lists all"),
        ("[host.kernel_entry]\nvalue = 100\ndoc = \"d\"\nsource = \"s\"\n".into(), 1, "host.kernel_entry is \"100\": the unit is missing; allowed is a duration (a number with ps, ns, us or ms)"),
        ("[host.kernel_entry]\nvalue = 1.5\ndoc = \"d\"\nsource = \"s\"\n".into(), 1, "host.kernel_entry is 1.5: it must be a string, a duration (a number with ps, ns, us or ms), 0 ns to 1 ms"),
        ("[host.kernel_entry]\nvalue = \"1 s\"\ndoc = \"d\"\nsource = \"s\"\n".into(), 1, "host.kernel_entry is \"1 s\": the unit s does not fit; allowed is a duration (a number with ps, ns, us or ms)"),
        ("[host.kernel_entry]\nvalue = \"5 ms\"\ndoc = \"d\"\nsource = \"s\"\n".into(), 1, "host.kernel_entry is \"5 ms\": allowed is 0 ns to 1 ms"),
        ("[host.kernel_entry]\nvalue = \"1 ns\"\ndoc = \"d\"\n".into(), 0, "host.kernel_entry has no source"),
        ("[host.kernel_entry]\nvalue = \"1 ns\"\ndoc = \"d\"\nsource = \" \"\n".into(), 3, "the source of host.kernel_entry must say where the value comes from"),
        ("[host.kernel_entry]\nvalue = \"1 ns\"\ndoc = 3\nsource = \"s\"\n".into(), 2, "the doc of host.kernel_entry must be a string"),
        ("[host.kernel_entry]\ndoc = \"d\"\nsource = \"s\"\n".into(), 0, "host.kernel_entry has no value; it takes a duration (a number with ps, ns, us or ms), 0 ns to 1 ms"),
        (format!("[host.kernel_entry]\n{good}unit = \"ns\"\n"), 4, "host.kernel_entry has no field unit; it has value, doc and source"),
        ("[host]\nkernel_entry = \"1 ns\"\n".into(), 1, "host.kernel_entry: it must be a table [host.kernel_entry] with value, doc and source"),
    ];
    for (table, offset, sentence) in cases {
        let (text, line) = with_kernel_entry(&table);
        assert_eq!(wrong(&text), format!("m.toml:{}: {sentence}", line + offset), "{table}");
    }
    assert_eq!(wrong("name = 3\n"), "m.toml:1: name must be a string");
    assert!(wrong("name = \"a\"\nname = \"b\"\n").starts_with("m.toml:2: "));
    assert!(wrong("[host\n").starts_with("m.toml:1: "));
    let missing = Parameters::load(&MODELS, Path::new("/nowhere/m.toml")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read the machine file /nowhere/m.toml: "), "{missing}");
}

#[test]
fn a_machine_may_build_on_another() {
    let folder = std::env::temp_dir().join(format!("sunstar-base-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("b.toml"), complete()).unwrap();
    let own = "name = \"m\"\ndoc = \"own\"\nbase = \"b\"\n[host.os]\nvalue = \"linux\"\n\
               doc = \"d\"\nsource = \"own\"\n";
    let file = folder.join("m.toml");
    let parse = |text: &str| Parameters::parse(&MODELS, &file, text, &machines());
    let machine = parse(own).unwrap();
    assert!(machine.bases().eq([&*folder.join("b.toml")]));
    assert_eq!((machine.name(), machine.doc()), ("m", "own"));
    assert_eq!(machine.choice("host.os"), "linux");
    for parameter in machine.iter() {
        assert_eq!(parameter.source == "own", parameter.key == "host.os", "{}", parameter.key);
    }
    // Sunstar's own are known by their names wherever the file is.
    let known = parse(&own.replace("\"b\"", "\"redstorm\"")).unwrap();
    assert!(known.bases().eq([&*machines().join("redstorm.toml")]));
    assert_eq!(known.choice("host.os"), "linux");
    let fails = |text: &str| parse(text).unwrap_err().to_string();
    // It may build on one that builds on another, and not on itself.
    std::fs::write(folder.join("m.toml"), own).unwrap();
    let above = parse(&own.replace("\"b\"", "\"m\"").replace("linux", "catamount")).unwrap();
    assert_eq!(above.choice("host.os"), "catamount");
    std::fs::write(folder.join("m.toml"), own.replace("\"b\"", "\"m\"")).unwrap();
    let error = fails(&own.replace("\"b\"", "\"m\""));
    assert!(
        error.contains("m.toml:3: base:") && error.ends_with("another machine itself"),
        "{error}"
    );
    let error = fails(&own.replace("\"b\"", "\"none\""));
    assert!(error.contains("m.toml:3: base: cannot read"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_parameter_of_another_model_is_named_with_it() {
    let [seastar, ideal] = ["seastar", "ideal"].map(|name| MODELS.model(name).unwrap());
    let alien = |text: &str, key: &str| {
        let table = format!("[{key}]\nvalue = \"1 ns\"\ndoc = \"d\"\nsource = \"s\"\n");
        wrong(&format!("{text}{table}"))
    };
    let text = complete_of(ideal);
    let line = text.lines().count() + 1;
    assert_eq!(
        alien(&text, "ht.latency"),
        format!(
            "m.toml:{line}: machines of model ideal (nic.model) have no ht.latency; it belongs to \
             model seastar"
        )
    );
    assert!(alien(&complete_of(seastar), "ideal.gap").contains("belongs to model ideal"));
    let mut machine = Parameters::load(&MODELS, &machines().join("ideal.toml")).unwrap();
    assert_eq!(machine.model().name, "ideal");
    assert_eq!(
        machine.set("nic.tx_start=1 ns").unwrap_err().to_string(),
        "--set nic.tx_start=1 ns: machines of model ideal (nic.model) have no nic.tx_start; it \
         belongs to model seastar"
    );
    let model = machine.set("nic.model=seastar").unwrap_err().to_string();
    assert!(model.contains("choose another machine"), "{model}");
}

/// A base hands on what its model has no use for.
#[test]
fn a_machine_has_parameters_of_its_bases_base() {
    let all = ["redstorm", "alpu", "alpu-mesh"];
    let load = |name| Parameters::load(&MODELS, &machines().join(format!("{name}.toml"))).unwrap();
    let [redstorm, alpu, mesh] = all.map(load);
    let files = ["alpu", "redstorm"].map(|name| machines().join(format!("{name}.toml")));
    assert!(mesh.bases().eq(files.iter()));
    let of = |machine: &Parameters, key| machine.iter().find(|own| own.key == key).cloned();
    for key in ["net.link_latency", "nic.rx_buffers"] {
        assert!(of(&redstorm, key).is_some());
        assert_eq!((of(&alpu, key), of(&mesh, key)), (None, of(&redstorm, key)));
    }
    assert_eq!((of(&mesh, "offload.wire"), of(&mesh, "nic.alpu")), (None, of(&alpu, "nic.alpu")));
}

/// A declared field has a type that its range fits: whatever a row allows can be read, at both ends.
#[test]
fn every_bound_can_be_read() {
    let files = std::fs::read_dir(machines()).unwrap().map(|entry| entry.unwrap().path());
    let mut read = 0;
    for file in files.filter(|path| path.extension().is_some_and(|e| e == "toml")) {
        let machine = Parameters::load(&MODELS, &file).unwrap();
        let model = machine.model();
        for row in MODELS.rows(model).into_iter().filter(|row| row.range != ("", "")) {
            for bound in [row.range.0, row.range.1] {
                let mut other = machine.clone();
                other.set(&format!("{}={bound}", row.key)).unwrap();
                // A refusal is a sentence; a field that is too narrow would be a panic.
                if let Err(why) = (model.check)(&other, 2, &[], 1) {
                    assert!(!why.to_string().is_empty(), "{}", row.key);
                }
                read += 1;
            }
        }
    }
    assert!(read > 1000, "{read}");
}

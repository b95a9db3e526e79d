//! `sunstar report`: a self-contained page with the numbers of the runs and of the papers.

use crate::runner::{root, sunstar};
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

mod again;
mod axe;
mod clicks;
pub mod kinds;
mod look;
mod whole;

/// A page that was written, and the run's JSON beside it.
struct Written {
    text: String,
    run: Value,
    stdout: String,
}

impl Written {
    fn page(&self) -> Html {
        Html::parse_document(&self.text)
    }
}

/// `sunstar report page.html --json ...` with the words of `line`.
fn report(line: &str) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let [page, json] = ["page.html", "run.json"].map(|name| folder.path().join(name));
    let words = ["report", page.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let ended = sunstar(words.into_iter().chain(line.split_whitespace()));
    let stdout = ended.wrote(&page).stdout.clone();
    let text = std::fs::read_to_string(&page).unwrap();
    let run = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    Written { text, run, stdout }
}

/// Report of a program with messages of all kinds: in the header, with payload, fetched.
fn of_a_program() -> &'static Written {
    static PAGE: OnceLock<Written> = OnceLock::new();
    PAGE.get_or_init(|| report("-n 2 --judge examples/pingpong.c 262144"))
}

fn of_the_machine() -> &'static Written {
    static PAGE: OnceLock<Written> = OnceLock::new();
    PAGE.get_or_init(|| report("--largest 64"))
}

fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

fn number(element: &ElementRef, name: &str) -> f64 {
    let text = element.attr(name).unwrap_or_else(|| panic!("no {name} in {}", element.html()));
    text.parse().unwrap_or_else(|_| panic!("{name}={text}"))
}

fn value(json: &Value) -> f64 {
    json.as_f64().unwrap_or_else(|| panic!("{json} is no number"))
}

/// Checks that numbers are equal up to the last bit, which serde_json's reader may lose.
#[track_caller]
fn assert_same(shown: f64, told: f64) {
    assert!((shown - told).abs() <= 1e-14 * told.abs(), "{shown} is not {told}");
}

fn words(element: &ElementRef) -> String {
    element.text().collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that the page is well-formed, and loads nothing.
#[track_caller]
fn assert_stands_alone(written: &Written) {
    assert_whole(&written.page(), &written.text);
}

/// The same of a page and its text.
#[track_caller]
fn assert_whole(page: &Html, text: &str) {
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    for element in page.tree.nodes().filter_map(ElementRef::wrap) {
        for (name, value) in element.value().attrs() {
            let inside = !matches!(name, "href" | "xlink:href") || value.starts_with('#');
            assert!(inside && !matches!(name, "src" | "srcset" | "data"), "{name}={value}");
            assert!(!name.starts_with("on") && !value.contains("url("), "{name}={value}");
        }
    }
    for word in ["url(", "@import", "http://", "https://", "fetch(", "XMLHttp"] {
        assert!(!text.contains(word), "{word} in the page");
    }
    // What is linked is there.
    for link in all(page, "a") {
        let href = link.attr("href").unwrap();
        assert_eq!(all(page, &format!("[id='{}']", &href[1..])).len(), 1, "{href}");
    }
    let size = text.len();
    assert!(size < 1 << 20, "{size} bytes");
}

#[test]
fn pages_stand_alone() {
    assert_stands_alone(of_a_program());
    assert_stands_alone(of_the_machine());
}

#[test]
fn the_waterfall_is_that_of_the_run() {
    let written = of_a_program();
    let page = written.page();
    let breakdowns = written.run["breakdowns"].as_array().unwrap();
    let rows = all(&page, "#places tbody tr");
    assert_eq!(rows.len(), breakdowns.len());
    for (row, breakdown) in rows.iter().zip(breakdowns) {
        assert_eq!(number(row, "data-bytes"), value(&breakdown["bytes"]));
        assert_same(number(row, "data-ns"), value(&breakdown["total_ns"]));
    }
    let shown = all(&page, "#steps svg.steps");
    // The smallest and the greatest of those that pass the same steps; last a message of a collective.
    let sizes: Vec<f64> = shown.iter().map(|drawing| number(drawing, "data-bytes")).collect();
    assert_eq!(sizes, [0.0, 12.0, 13.0, 262144.0, 0.0]);
    for drawing in shown.into_iter().take(4) {
        let bytes = number(&drawing, "data-bytes");
        let breakdown = breakdowns.iter().find(|b| value(&b["bytes"]) == bytes).unwrap();
        let segments = breakdown["segments"].as_array().unwrap();
        let selector = Selector::parse("g.step").unwrap();
        let steps: Vec<ElementRef> = drawing.select(&selector).collect();
        assert_eq!(steps.len(), segments.len(), "{bytes} bytes");
        for (step, segment) in steps.iter().zip(segments) {
            assert_eq!(step.attr("data-name"), segment["name"].as_str());
            assert_eq!(step.attr("data-place"), segment["place"].as_str());
            assert_same(number(step, "data-ns"), value(&segment["ns"]));
        }
    }
}

#[test]
fn queues_links_and_parameters_are_those_of_the_run() {
    let written = report("-n 6 --largest 8 builtin:alltoall 2000 2");
    assert_stands_alone(&written);
    let (page, run) = (written.page(), &written.run);
    let nodes = run["nodes"].as_array().unwrap();
    let summary = &all(&page, "#summary dl")[0];
    assert_same(number(summary, "data-simulated"), value(&run["simulated_ns"]));
    assert_eq!(summary.attr("data-hash"), run["trace_hash"].as_str());

    let links: Vec<(&Value, &Value)> = nodes
        .iter()
        .flat_map(|node| node["links"].as_array().unwrap().iter().map(move |l| (&node["nid"], l)))
        .collect();
    let rows = all(&page, "#link-list tbody tr");
    assert!(rows.len() == links.len() && rows.len() > 6, "{} links", rows.len());
    for row in &rows {
        let ends = ["data-from", "data-to"].map(|name| number(row, name));
        let (_, link) =
            links.iter().find(|(nid, link)| [value(nid), value(&link["to"])] == ends).unwrap();
        let names = [("packets", "packets"), ("bytes", "bytes"), ("busy", "busy_ns")];
        for (name, key) in names {
            assert_same(number(row, &format!("data-{name}")), value(&link[key]));
        }
    }
    let busy: Vec<f64> = rows.iter().map(|row| number(row, "data-busy")).collect();
    assert!(busy.windows(2).all(|pair| pair[0] >= pair[1]), "the busiest comes first: {busy:?}");

    let depths = all(&page, "#greatest tbody tr");
    assert!(depths.len() > 4);
    for row in depths {
        let counter = row.attr("data-counter").unwrap();
        let of_nodes = nodes.iter().map(|node| value(&node["counters"][counter]));
        assert_eq!(number(&row, "data-most"), of_nodes.fold(0.0, f64::max), "{counter}");
    }

    // Over time: what the engine held at most is what it counted, and links are as busy in all.
    for (id, counter) in [("packets", "rx.held_max"), ("cam", "rx.cam_in_use_max")] {
        let drawn = number(&all(&page, &format!("#queue-{id}"))[0], "data-most");
        let counted = nodes.iter().map(|node| value(&node["counters"][counter]));
        assert_eq!(drawn, counted.fold(0.0, f64::max), "{counter}");
    }
    assert_eq!(all(&page, "#queues figure.queue").len(), 10);
    // What the library tells over time is what the account has added up.
    let account = run["account"].as_array().unwrap();
    for (id, key) in [("posted", "posted_most"), ("unexpected", "unexpected_most")] {
        let drawn = number(&all(&page, &format!("#queue-{id}"))[0], "data-most");
        let counted = account.iter().map(|rank| value(&rank[key]));
        assert_eq!(drawn, counted.fold(0.0, f64::max), "{key}");
    }
    let courses = all(&page, "#link-courses g[data-busy-ps]");
    assert_eq!(courses.len(), 4);
    for (course, row) in courses.iter().rev().zip(&rows) {
        assert_eq!(course.attr("data-from"), row.attr("data-from"));
        assert_same(number(course, "data-busy-ps") / 1e3, number(row, "data-busy"));
    }

    // Hosts and links have worked as long as the report says.
    let uses = all(&page, "#use-courses g[data-use]");
    let of = |name: &str| uses.iter().find(|line| line.attr("data-use") == Some(name)).unwrap();
    let busy = nodes.iter().flat_map(|node| node["links"].as_array().unwrap());
    let busy = busy.map(|link| value(&link["busy_ns"])).sum::<f64>();
    assert_same(number(of("links"), "data-busy-ps") / 1e3, busy);
    let host = |kind: &str| nodes.iter().map(|node| value(&node["host_ns"][kind])).sum::<f64>();
    let (kernel, drawn) =
        (host("kernel") + host("interrupt"), number(of("kernel"), "data-busy-ps") / 1e3);
    // Reads of the interface within the kernel count apart in the report.
    let least = kernel - 1.0;
    assert!(drawn >= least && drawn <= kernel + host("mmio_stall") + 1.0, "{drawn}, {kernel} ns");
    for line in &uses {
        let (busy, time) = (number(line, "data-busy-ps"), number(line, "data-time-ps"));
        assert!(busy > 0.0 && busy <= time, "{busy} of {time} ps");
    }
    assert_eq!(uses.len(), 6, "program, kernel, firmware, two engines, links");

    let values = run["machine"]["values"].as_object().unwrap();
    let rows = all(&page, "#parameters tbody tr");
    assert_eq!(rows.len(), values.len());
    for row in rows {
        let key = row.attr("data-key").unwrap();
        assert_eq!(row.attr("data-value"), values[key]["value"].as_str(), "{key}");
        let (shown, told) = (words(&row), values[key]["source"].as_str().unwrap());
        assert!(collapsed(&shown).contains(&collapsed(told)), "{key}: no {told} in {shown}");
    }
}

/// Text without blanks, marks of code, and what units are written like.
fn collapsed(text: &str) -> String {
    let text = text.replace('`', "").replace('µ', "u");
    text.split_whitespace().collect::<Vec<_>>().join("")
}

/// Table that `examples/studies/latency.c` prints: bytes, microseconds, MB/s.
fn table(stdout: &str) -> Vec<Vec<f64>> {
    let rows = stdout.lines().skip(1);
    rows.map(|row| row.split_whitespace().filter_map(|word| word.parse().ok()).collect()).collect()
}

#[test]
fn curves_are_what_the_ping_pong_prints() {
    let written = of_the_machine();
    assert_eq!(written.stdout, "", "the ping-pong's own output is on the page");
    let page = written.page();
    for (series, set) in [("full", ""), ("inline-off", "--set firmware.inline=off ")] {
        let line = format!("-q -n 2 {set}examples/studies/latency.c 64");
        let printed = table(&crate::runner::run(&line).went_well().stdout);
        let marks = all(&page, &format!("#latency-small [data-series='{series}']"));
        let drawn: Vec<[f64; 2]> = marks
            .iter()
            .map(|mark| ["data-bytes", "data-value"].map(|name| number(mark, name)))
            .collect();
        assert_eq!(drawn.len(), printed.len());
        for (drawn, printed) in drawn.iter().zip(&printed) {
            assert_eq!(drawn[..], printed[..2], "{series}");
        }
    }
}

/// Results in published/*.toml.
fn published() -> Vec<toml::Value> {
    let file = |name| std::fs::read_to_string(root().join("published").join(name)).unwrap();
    ["brightwell2007.toml", "pedretti2005.toml"]
        .iter()
        .flat_map(|name| {
            let file: toml::Table = toml::from_str(&file(name)).unwrap();
            file["result"].as_array().unwrap().clone()
        })
        .collect()
}

#[test]
fn what_is_published_stands_on_the_curves() {
    let page = of_the_machine().page();
    let full = |bytes: &str| {
        let mark = format!("#latency-small [data-series='full'][data-bytes='{bytes}']");
        number(&all(&page, &mark)[0], "data-value")
    };
    let mut count = 0;
    for result in published() {
        let Some(measurement) = result.get("measurement").and_then(|name| name.as_str()) else {
            continue;
        };
        let value = result.get("value").and_then(|value| value.as_float());
        // Savings are drawn above the full firmware.
        let expected = match measurement.split('.').collect::<Vec<_>>()[..] {
            ["latency", _, _] => value.unwrap(),
            ["saving", _, bytes] => value.unwrap() + full(bytes),
            _ => continue,
        };
        let id = result["id"].as_str().unwrap();
        let mark = all(&page, &format!("#latency-small g[data-published='{id}']"));
        assert_eq!(mark.len(), 1, "{id}");
        assert!((number(&mark[0], "data-value") - expected).abs() < 1e-9, "{id}");
        let row = all(&page, &format!("#published tr[data-published='{id}']"));
        let row = words(&row[0]);
        for key in ["paper", "where", "quantity", "conditions"] {
            let said = result[key].as_str().unwrap();
            assert!(row.contains(said), "no {key} {said} in {row}");
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} results");
    let cited = all(&page, "#bibliography dt");
    assert!(cited.iter().any(|key| words(key) == "pedretti2005"));
}

#[test]
fn a_program_stands_beside_the_curves() {
    let written = of_a_program();
    assert!(written.stdout.contains("latency (us)"), "a program's output is its own");
    let page = written.page();
    let own = all(&page, "#latency g.own");
    let breakdowns = written.run["breakdowns"].as_array().unwrap();
    assert_eq!(own.len(), breakdowns.len());
    for (mark, breakdown) in own.iter().zip(breakdowns) {
        assert_eq!(number(mark, "data-bytes"), value(&breakdown["bytes"]));
        assert_same(number(mark, "data-ns"), value(&breakdown["total_ns"]));
    }
    let bandwidth = all(&page, "#bandwidth g[data-published='pedretti2005.bandwidth']");
    assert_eq!(number(&bandwidth[0], "data-value"), 1.1);
    let line = words(&all(&page, "#replay pre")[0]);
    assert!(line.starts_with("sunstar report ") && line.ends_with("examples/pingpong.c 262144"));
    // Its judge may end the run, so it is a part of the command.
    assert!(line.contains(" --judge "), "{line}");
}

#[test]
fn names_are_escaped_and_failures_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("a<b>&\"'.c");
    std::fs::copy(root().join("tests/cli/wrong.c"), &program).unwrap();
    let page = folder.path().join("page.html");
    let words = ["report", page.to_str().unwrap(), "--largest", "0", "-n", "2"];
    let ended = sunstar(words.into_iter().chain([program.to_str().unwrap(), "deadlock"]));
    ended.said(1, &["deadlock"]);
    let text = std::fs::read_to_string(&page).unwrap();
    let page = Html::parse_document(&text);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    assert!(self::words(&all(&page, "h1")[0]).contains("a<b>&\"'.c"));
    let wrong: String = all(&page, "#summary .wrong").iter().map(self::words).collect();
    assert!(wrong.contains("deadlock") && wrong.contains("status 1"), "{wrong}");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let nowhere = folder.path().join("no/page.html");
    let nowhere = nowhere.to_str().unwrap();
    sunstar(["report", nowhere, "examples/ring.c"]).said(2, &["cannot write", nowhere]);
    sunstar(["report", "-"]).said(2, &["a file, not standard output"]);
    for name in ["x.txt", "x", "pingpong.c", "page.html.c"] {
        let named = folder.path().join(name);
        let named = named.to_str().unwrap();
        let words = &["is no page", ".html", "sunstar report page.html -n 2"];
        sunstar(["report", named, "--largest", "0"]).said(2, words);
        assert!(!Path::new(named).exists(), "{named} was written");
    }
    sunstar(["report", page, "-n", "4"]).said(2, &["-n", "none was named"]);
    sunstar(["report", page, "no/such.c"]).said(2, &["no/such.c"]);
    sunstar(["report", page, "--set", "net.no=1"]).said(2, &["net.no"]);
    assert!(!Path::new(page).exists(), "nothing was written");
}

#[test]
fn a_page_takes_the_place_of_a_page_only() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program.c");
    std::fs::copy(root().join("examples/hello.c"), &program).unwrap();
    let name = program.to_str().unwrap();
    // Who forgets the page has named the program in its place.
    sunstar(["report", name, "--largest", "0"]).said(2, &["program.c", "is no page", "-n 2"]);
    assert!(std::fs::read_to_string(&program).unwrap().contains("MPI_Init"));
    let page = folder.path().join("page.html");
    for before in ["", "<!doctype html>old"] {
        std::fs::write(&page, before).unwrap();
        sunstar(["report", page.to_str().unwrap(), "--largest", "0"]).wrote(&page);
        assert!(std::fs::read_to_string(&page).unwrap().len() > 10_000);
    }
}

/// Script in the page that collects errors, visible sections, and elements wider than the window.
const PROBE: &str = r#"<script>
const thrown = [];
addEventListener("error", (event) => thrown.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => thrown.push(event.violatedDirective));
addEventListener("load", () => {
  const box = (part) => [part.getBoundingClientRect().width, part.getBoundingClientRect().height];
  const parts = [...document.querySelectorAll("section")].map((part) => [part.id, ...box(part)]);
  const charts = [...document.querySelectorAll("svg.chart")];
  const drawn = charts.filter((part) => box(part)[1] > 100).length;
  const found = { thrown, parts, drawn, wide: document.documentElement.scrollWidth > innerWidth };
  const told = document.createElement("pre");
  told.id = "probe";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
});
</script>"#;

/// Opens a page in a browser of this width with a script in its head; the script's result in the element
/// `probe`, and the page at that time. The console must be empty.
fn browse(written: &Written, script: &str, width: u32) -> (Value, Html) {
    // Tests share a page, but neither the copy nor the browser.
    let folder = tempfile::tempdir().unwrap();
    let probed = folder.path().join("probed.html");
    std::fs::write(&probed, written.text.replacen("<head>", &format!("<head>{script}"), 1))
        .unwrap();
    opened(&probed, width, &[])
}

/// The result of a page's own script, and the page at that time, in a browser with these options.
fn opened(page: &Path, width: u32, options: &[&str]) -> (Value, Html) {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args([&format!("--window-size={width},900"), "--enable-logging=stderr", "--dump-dom"])
        .arg("--virtual-time-budget=20000")
        .args(options)
        .arg(format!("--user-data-dir={}", folder.path().join("browser").display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium, which scripts/bootstrap test installs");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("CONSOLE"), "{said}");
    let page = Html::parse_document(&String::from_utf8_lossy(&output.stdout));
    let told = all(&page, "#probe");
    assert_eq!(told.len(), 1, "the script has not come to its end");
    let found = serde_json::from_str(&told[0].text().collect::<String>()).unwrap();
    (found, page)
}

#[test]
fn a_browser_shows_every_part_without_an_error() {
    for written in [of_a_program(), of_the_machine()] {
        let (found, page) = browse(written, PROBE, 1000);
        assert_eq!((&found["thrown"], &found["wide"]), (&serde_json::json!([]), &false.into()));
        let parts = found["parts"].as_array().unwrap();
        let wanted = ["summary", "waterfall", "curves", "queues", "links", "parameters", "replay"];
        for name in wanted {
            let part = parts.iter().find(|part| part[0] == name);
            let part = part.unwrap_or_else(|| panic!("no {name} in {found}"));
            assert!(value(&part[1]) > 300.0 && value(&part[2]) > 50.0, "{part}");
        }
        // The first waterfall, latency of small messages, and what else there is.
        assert!(value(&found["drawn"]) >= 2.0, "{found}");
        // The script has run.
        assert_eq!(all(&page, "body > .tip").len(), 1);
    }
}

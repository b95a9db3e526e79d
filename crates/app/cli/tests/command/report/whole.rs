//! Laws of all pages: what is headed is there, numbers have one unit, controls have names of their own.

use super::kinds::{all_kinds, commands_with_pages, Kind};
use super::{all, assert_whole, number, words};
use crate::bad_files::verbs;
use scraper::{ElementRef, Html};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn every_command_that_writes_a_page_is_looked_at() {
    let drawn =
        |verb: &crate::bad_files::Verb| verb.files.iter().any(|file| file.contains("FILE.html"));
    let written: BTreeSet<String> =
        verbs(&[]).iter().filter(|verb| drawn(verb)).map(|verb| verb.words.join(" ")).collect();
    let mut looked: BTreeSet<String> = commands_with_pages().into_iter().collect();
    // Its page needs guests; where they are, it is among them.
    looked.insert("bench dp".into());
    assert_eq!(looked, written);
}

#[test]
fn all_pages_stand_alone() {
    for kind in all_kinds() {
        assert_whole(&kind.page(), &kind.text);
    }
}

/// Depth of a heading.
fn depth(part: ElementRef) -> Option<u8> {
    match part.value().name().as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    }
}

/// True if an element shows something by itself.
fn shows(part: ElementRef) -> bool {
    let drawn = ["svg", "input", "button"].contains(&part.value().name());
    let text = part.children().filter_map(|child| child.value().as_text().map(|text| &**text));
    drawn || text.collect::<String>().chars().any(|c| !c.is_whitespace())
}

/// Headings behind which nothing comes before the next one that is not below them.
fn bare_headings(page: &Html) -> Vec<String> {
    let inside = all(page, "main *");
    let mut bare = Vec::new();
    for (at, heading) in inside.iter().enumerate() {
        let Some(own) = depth(*heading) else { continue };
        let rest = inside[at + 1..].iter().filter(|part| !within(**part, *heading));
        let mut rest = rest.take_while(|part| depth(**part).is_none_or(|other| other > own));
        if !rest.any(|part| depth(*part).is_none() && shows(*part)) {
            bare.push(words(heading));
        }
    }
    bare
}

fn within(part: ElementRef, whole: ElementRef) -> bool {
    part.ancestors().any(|above| above.id() == whole.id())
}

#[test]
fn no_heading_stands_over_nothing_and_no_table_is_empty() {
    for kind in all_kinds() {
        let (page, line) = (kind.page(), &kind.line);
        assert_eq!(bare_headings(&page), Vec::<String>::new(), "{line}");
        for table in all(&page, "table") {
            let rows = all_in(table, "tbody tr");
            assert!(!rows.is_empty(), "{line}: {}", table.html());
        }
        for list in all(&page, "main ul, main ol, main dl, main details, main figure") {
            let inside = list.descendants().filter_map(ElementRef::wrap);
            let told = inside.filter(|part| part.value().name() != "summary");
            assert!(told.skip(1).any(shows), "{line}: {}", list.html());
        }
        // What the contents lead to is there, and nothing is drawn that they leave out.
        let named: Vec<&str> =
            all(&page, "nav a").iter().map(|link| &link.attr("href").unwrap()[1..]).collect();
        let sections = all(&page, "main > section");
        let sections: Vec<&str> = sections.iter().map(|part| part.attr("id").unwrap()).collect();
        assert_eq!(named, sections, "{line}");
    }
}

pub fn all_in<'a>(whole: ElementRef<'a>, selector: &str) -> Vec<ElementRef<'a>> {
    whole.select(&scraper::Selector::parse(selector).unwrap()).collect()
}

/// A heading without anything is found.
#[test]
fn bare_headings_are_found() {
    let page = |body: &str| Html::parse_document(&format!("<main>{body}</main>"));
    let good = "<h2>A</h2><h3>B</h3><p>text</p><h2>C</h2><figure><svg></svg></figure>";
    assert_eq!(bare_headings(&page(good)), Vec::<String>::new());
    let bad = "<h2>A</h2><h3>B</h3><table><tbody></tbody></table><h2>C</h2><h3>D</h3><p>d</p>";
    assert_eq!(bare_headings(&page(bad)), ["A", "B"]);
}

/// Text for people, without what is a word for the machine: code, and output of programs.
fn prose(kind: &Kind) -> Vec<String> {
    let page = kind.page();
    let code = ["code", "pre", "script", "style"];
    let texts = page.tree.nodes().filter(|node| {
        node.value().is_text()
            && !node
                .ancestors()
                .filter_map(ElementRef::wrap)
                .any(|above| code.contains(&above.value().name()))
    });
    let texts = texts.filter_map(|node| Some(node.value().as_text()?.to_string()));
    let labels = all(&page, "[aria-label], [title]");
    let labels = labels.iter().flat_map(|part| {
        ["aria-label", "title"].into_iter().filter_map(|name| part.attr(name).map(str::to_owned))
    });
    texts.chain(labels.collect::<Vec<_>>()).collect()
}

#[test]
fn units_are_written_in_one_way_and_code_has_no_backticks() {
    for kind in all_kinds() {
        for text in prose(kind) {
            let line = &kind.line;
            assert!(!text.contains('`'), "{line}: {text}");
            let words: Vec<&str> = text.split([' ', '(', ')', ',', ';', '.', ':']).collect();
            let unit =
                |pair: &[&str]| pair[1] == "us" && pair[0].chars().all(|c| c.is_ascii_digit());
            assert!(!words.windows(2).any(unit) && !text.contains("(us)"), "{line}: {text}");
        }
    }
}

/// Controls with the same name do the same.
#[test]
fn controls_have_names_of_their_own() {
    for kind in all_kinds() {
        let page = kind.page();
        let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for control in all(&page, "main a, summary, label, button, svg.chart") {
            let name = control.attr("aria-label").map_or_else(|| words(&control), str::to_owned);
            // Links of one name may be several, if they lead to one place; what unfolds there has it, too.
            let folded =
                control.parent().and_then(ElementRef::wrap).and_then(|part| part.attr("id"));
            let does = match (control.attr("href"), folded) {
                (Some(place), _) => place.to_owned(),
                (None, Some(id)) if control.value().name() == "summary" => format!("#{id}"),
                _ => format!("{:?}", control.id()),
            };
            named.entry(name).or_default().insert(does);
        }
        let twice: Vec<_> = named.iter().filter(|(_, does)| does.len() > 1).collect();
        assert!(twice.is_empty(), "{}: {twice:#?}", kind.line);
    }
}

/// Every part of a bar has its number beside the bar.
#[test]
fn no_number_of_a_part_of_a_bar_is_lost() {
    let mut bars = 0;
    for kind in all_kinds() {
        let page = kind.page();
        for bar in all(&page, "div.stack") {
            let above = bar.ancestors().filter_map(ElementRef::wrap);
            let row = above.into_iter().find(|part| part.value().name() == "tr").unwrap();
            for part in all_in(bar, "span") {
                assert_eq!(words(&part), "", "{}: no number in a part", kind.line);
                let look = part.attr("data-place").unwrap();
                let cell = all_in(row, &format!("td[data-part='{look}']"));
                let [cell] = cell[..] else { panic!("{}: {}", kind.line, row.html()) };
                let shown = words(&cell);
                assert!(number(&cell, "data-ns") > 0.0 && shown.contains('%'), "{shown}");
            }
            let parts = all_in(row, "td[data-part]");
            let sum: f64 = parts.iter().map(|cell| number(cell, "data-ns")).sum();
            let whole = row.attr("data-ns").map(|_| number(&row, "data-ns"));
            let whole = whole.unwrap_or_else(|| number(&row, "data-us") * 1e3);
            assert!((sum - whole).abs() <= 1e-6 * whole, "{}: {sum} {}", kind.line, row.html());
            bars += 1;
        }
    }
    assert!(bars > 40, "{bars}");
}

/// Marks of the vertical axis.
fn scale(chart: ElementRef) -> Vec<String> {
    let ends = all_in(chart, "text.tick[text-anchor='end']");
    ends.iter().map(words).collect()
}

/// Charts of one quantity that stand beside one another are read by one scale.
#[test]
fn small_multiples_have_one_scale() {
    let mut groups = 0;
    for kind in all_kinds() {
        let page = kind.page();
        // Depths of queues are no such: each is of another thing, with a room of its own.
        for section in all(&page, "section:not(#queues):not(#curves)") {
            let mut scales: BTreeMap<String, BTreeSet<Vec<String>>> = BTreeMap::new();
            let mut charts = 0;
            for chart in all_in(section, "svg.chart:not(.square):not(.steps)") {
                let titles = all_in(chart, "text.title");
                let unit = |title: String| {
                    title.rsplit_once('(').map_or(title.clone(), |(_, unit)| unit.to_owned())
                };
                scales.entry(unit(words(&titles[1]))).or_default().insert(scale(chart));
                charts += 1;
            }
            for (quantity, own) in &scales {
                assert_eq!(own.len(), 1, "{}: {quantity}: {own:#?}", kind.line);
            }
            groups += usize::from(charts > scales.len());
        }
    }
    assert!(groups >= 3, "queues, the suite: {groups}");
}

/// A page of the bench shows what is published about its machine and its quantities.
#[test]
fn pages_of_the_bench_show_what_is_published() {
    for (command, paper, drawn) in [
        (
            "bench queues",
            "brightwell2005",
            &["entry", "full-400", "flat-128", "unexpected-gain"][..],
        ),
        ("bench rdma", "marazakis2006", &["dma-rate", "link-rate"]),
    ] {
        let kind = all_kinds().iter().find(|kind| kind.line.starts_with(command)).unwrap();
        let page = kind.page();
        let file =
            std::fs::read_to_string(crate::runner::root().join(format!("published/{paper}.toml")));
        let file: toml::Table = toml::from_str(&file.unwrap()).unwrap();
        let rows = all(&page, "#published tbody tr");
        let results = file["result"].as_array().unwrap();
        let of = |id: &str| results.iter().find(|result| result["id"].as_str() == Some(id));
        assert!(rows.len() >= 8, "{command}: {} rows", rows.len());
        for row in &rows {
            let result = of(row.attr("data-published").unwrap()).unwrap();
            assert!(words(row).contains(result["quantity"].as_str().unwrap()), "{}", row.html());
        }
        for name in drawn {
            let id = format!("{paper}.{name}");
            let mark = all(&page, &format!("svg.chart g[data-published='{id}']"));
            assert_eq!(mark.len(), 1, "{command}: {id}");
            let index: usize = words(&all_in(mark[0], "text.number")[0]).parse().unwrap();
            assert_eq!(rows[index - 1].attr("data-published"), Some(&*id), "{command}");
            if let (true, Some(value)) =
                (command == "bench rdma", of(&id).unwrap().get("value").unwrap().as_float())
            {
                assert_eq!(number(&mark[0], "data-value"), value);
            }
        }
        assert_eq!(words(&all(&page, "#bibliography dt")[0]), paper);
    }
}

/// The matrix has a scale of its colours, up to the greatest amount.
#[test]
fn the_colours_of_the_matrix_have_a_scale() {
    let mut matrices = 0;
    for kind in all_kinds() {
        let page = kind.page();
        for matrix in all(&page, "#matrix svg") {
            matrices += 1;
            let amounts: Vec<String> = all_in(matrix, "g.amount text").iter().map(words).collect();
            assert!(
                amounts.len() >= 2 && amounts[0].starts_with('0'),
                "{}: {amounts:?}",
                kind.line
            );
            let shades = all_in(matrix, "rect.shade");
            let strength: Vec<f64> =
                shades.iter().map(|shade| number(shade, "fill-opacity")).collect();
            assert!(strength.windows(2).all(|pair| pair[0] < pair[1]), "{strength:?}");
            let cells = all_in(matrix, "rect.cell");
            let most = cells.iter().map(|cell| number(cell, "fill-opacity")).fold(0.0, f64::max);
            assert!((most - 1.0).abs() < 1e-9 && strength[strength.len() - 1] > 0.98, "{most}");
        }
        for text in prose(kind) {
            let by_light = ["darker", "lighter", "darkest"].iter().any(|word| text.contains(word));
            assert!(!by_light, "{}: it is the other way round in dark mode: {text}", kind.line);
        }
    }
    assert!(matrices > 4, "{matrices}");
}

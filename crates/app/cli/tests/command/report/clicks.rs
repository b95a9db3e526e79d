//! Pages as readers use them: they click from bars to messages, on wide windows and narrow ones.

use super::{all, assert_stands_alone, browse, number, of_a_program, report, value, words};

/// Script that clicks from a bar of a call to one message's steps, and from a class of messages to another
/// message's, as a reader does; it returns the elements that are then open and visible.
const CLICKS: &str = r##"<script>
const thrown = [];
addEventListener("error", (event) => thrown.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => thrown.push(event.violatedDirective));
const wait = () => new Promise((done) => setTimeout(done, 50));
const box = (part) => part ? part.getBoundingClientRect() : { width: 0, height: 0 };
const click = async (where) => {
  const part = document.querySelector(where);
  if (!part) throw new Error(`no ${where}`);
  part.click();
  await wait();
  return part;
};
const told = (hash) => {
  const part = document.getElementById(hash.slice(1));
  const height = part.checkVisibility() ? box(part).height : 0;
  return [hash, part.open, height, document.activeElement === part.firstElementChild];
};
addEventListener("load", async () => {
  const found = { width: innerWidth };
  try {
    const bar = await click("#calls a.stack");
    found.label = bar.getAttribute("aria-label");
    found.call = told(bar.hash);
    const link = await click(`${bar.hash} .links a`);
    found.message = told(link.hash);
    found.steps = document.querySelectorAll(`${link.hash} table.steps tr`).length;
    found.stepsHeight = box(document.querySelector(`${link.hash} table.steps`)).height;
    found.nothing = [...document.querySelectorAll("#messages details.class:not([open]) table")]
      .filter((part) => part.checkVisibility()).length;
    const rank = await click("#ranks a.stack");
    found.rank = told(rank.hash);
    const own = await click("#messages details.class:not([open]) > summary");
    found.classes = document.querySelectorAll("#messages details.class[open]").length;
    found.bar = box(own.querySelector(".meter span")).width;
    // Again to where one has been: the address stays, and it opens all the same.
    document.querySelector(link.hash).open = false;
    location.hash = link.hash;
    await wait();
    document.querySelector(link.hash).open = false;
    await click(`#slowest a[href="${link.hash}"], ${bar.hash} a[href="${link.hash}"]`);
    found.again = told(link.hash);
    found.cells = document.querySelectorAll("#matrix rect.cell").length;
    found.cell = box(document.querySelector("#matrix rect.cell")).width;
  } catch (error) { thrown.push(String(error)); }
  found.thrown = thrown;
  found.wide = document.documentElement.scrollWidth > innerWidth;
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify(found);
  document.body.append(probe);
});
</script>"##;

#[test]
fn a_bar_leads_to_its_messages_and_a_message_to_its_steps() {
    let written = of_a_program();
    for width in [1280, 390] {
        let (found, page) = browse(written, CLICKS, width);
        assert_eq!(found["thrown"], serde_json::json!([]), "{found:#}");
        assert_eq!(found["wide"], false, "{width}: {found:#}");
        assert!(value(&found["width"]) <= f64::from(width).max(500.0), "{found:#}");
        for name in ["call", "message", "rank", "again"] {
            let [_, open, height, focus] = &found[name].as_array().unwrap()[..] else {
                panic!("{found:#}")
            };
            assert_eq!((open, focus), (&true.into(), &true.into()), "{name}: {found:#}");
            assert!(value(height) > 60.0, "{name}: {found:#}");
        }
        let label = found["label"].as_str().unwrap();
        assert!(label.starts_with("MPI_") && label.contains("NIC "), "{label}");
        // The steps are those of the run's slowest message of that call, one line each.
        let hash = found["message"][0].as_str().unwrap().replace("#message-", "").replace('-', ":");
        let rows = all(&page, &format!("details[data-message='{hash}'] table.steps tr"));
        assert_eq!(value(&found["steps"]), rows.len() as f64, "{found:#}");
        assert!(rows.len() > 10 && value(&found["stepsHeight"]) > 200.0, "{found:#}");
        let message = &all(&page, &format!("details[data-message='{hash}']"))[0];
        let sum: f64 = rows.iter().map(|row| number(row, "data-ns")).sum();
        assert!((sum - number(message, "data-ns")).abs() < 1e-3, "{sum} of {}", message.html());
        assert_eq!(found["nothing"], 0, "what is folded takes no place: {found:#}");
        assert!(value(&found["classes"]) >= 2.0 && value(&found["bar"]) > 50.0, "{found:#}");
        assert!(value(&found["cells"]) == 2.0 && value(&found["cell"]) > 50.0, "{found:#}");
    }
}

/// The communication matrix shows the messages of the account.
#[test]
fn the_matrix_is_that_of_the_account() {
    let written = report("-n 6 --largest 8 builtin:alltoall 2000 2");
    let page = written.page();
    let cells = all(&page, "#matrix rect.cell");
    let account = written.run["account"].as_array().unwrap();
    let sent: Vec<[f64; 4]> = account
        .iter()
        .flat_map(|rank| {
            let to = rank["sent"].as_array().unwrap().iter();
            to.map(move |sent| {
                let of = |key: &str| value(&sent[key]);
                [value(&rank["rank"]), of("to"), of("messages"), of("bytes")]
            })
        })
        .collect();
    let names = ["data-from", "data-to", "data-messages", "data-bytes"];
    let drawn: Vec<[f64; 4]> =
        cells.iter().map(|cell| names.map(|name| number(cell, name))).collect();
    assert_eq!(drawn, sent);
    assert!(sent.len() == 30, "each of 6 to each other: {sent:?}");
}

/// Pages are written for machines of every model; they say so if the model reports no messages.
#[test]
fn every_model_has_a_page_which_says_what_it_does_not_tell() {
    for (line, told) in [
        ("-m forth -n 2 builtin:rdma-pingpong 8 2", true),
        ("-m amata -n 2 builtin:myrinet-pingpong 8 2", true),
        ("-m alpu -n 2 builtin:pingpong 8 2", true),
        ("-m ideal -n 2 builtin:pingpong 8 2", true),
        ("-m example -n 2 builtin:pingpong 8 2", true),
        ("-m queuepair -n 2 builtin:pingpong 8 2", true),
    ] {
        // Curves are of MPI.
        let mpi = !line.contains("-m forth") && !line.contains("-m amata");
        let written = report(&format!("--largest 0 {line}"));
        assert_stands_alone(&written);
        let page = written.page();
        let said = words(&all(&page, "#waterfall")[0]);
        assert_eq!(
            said.contains("tells neither of messages nor of calls"),
            !told,
            "{line}: {said}"
        );
        for (part, has) in [("#account", told), ("#messages", told), ("#curves", mpi)] {
            assert_eq!(!all(&page, part).is_empty(), has, "{line}: {part}");
        }
    }
}

/// Script that clicks from a bar to its slowest message, where all messages are of one class.
const ONE_CLASS: &str = r##"<script>
const thrown = [];
addEventListener("error", (event) => thrown.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => thrown.push(event.violatedDirective));
const wait = () => new Promise((done) => setTimeout(done, 50));
addEventListener("load", async () => {
  const found = {};
  try {
    const bar = document.querySelector("#calls a.stack");
    found.label = bar.getAttribute("aria-label");
    bar.click();
    await wait();
    const link = document.querySelector(`${bar.hash} .links a`);
    link.click();
    await wait();
    const message = document.querySelector(link.hash);
    found.message = message.dataset.message;
    found.open = message.open && message.checkVisibility();
    const rows = [...message.querySelectorAll("table.steps tr[data-name]")];
    found.steps = rows.map((row) => row.dataset.name);
    found.height = message.querySelector("table.steps").getBoundingClientRect().height;
    found.queues = document.querySelectorAll("#queues figure").length;
  } catch (error) { thrown.push(String(error)); }
  found.thrown = thrown;
  found.wide = document.documentElement.scrollWidth > innerWidth;
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify(found);
  document.body.append(probe);
});
</script>"##;

/// The page of a machine with another library is clicked through in the same way.
#[test]
fn a_bar_of_another_library_leads_to_a_packet() {
    let written = report("--largest 0 -m amata -n 4 builtin:myrinet-incast 512 4");
    let slowest = written.run["messages"]["slowest"].as_array().unwrap();
    for width in [1280, 390] {
        let (found, _) = browse(&written, ONE_CLASS, width);
        assert_eq!((&found["thrown"], &found["wide"]), (&serde_json::json!([]), &false.into()));
        assert!(found["label"].as_str().unwrap().starts_with("dp_"), "{found:#}");
        assert_eq!(found["open"], true, "{found:#}");
        let message = slowest.iter().find(|one| one["message"] == found["message"]);
        let segments = message.expect("a message of the run")["segments"].as_array().unwrap();
        let names: Vec<&serde_json::Value> = segments.iter().map(|one| &one["name"]).collect();
        let steps = found["steps"].as_array().unwrap().iter();
        assert_eq!(steps.collect::<Vec<_>>(), names, "{found:#}");
        assert!(value(&found["height"]) > 200.0 && value(&found["queues"]) >= 2.0, "{found:#}");
    }
}

/// Script that zooms into a chart by button, wheel, keys and dragging, and saves the drawing and its numbers.
const CLOSER: &str = r##"<script>
const thrown = [];
addEventListener("error", (event) => thrown.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => thrown.push(event.violatedDirective));
const blobs = [];
const names = [];
const address = URL.createObjectURL;
URL.createObjectURL = (blob) => { blobs.push(blob); return address.call(URL, blob); };
HTMLAnchorElement.prototype.click = function () { names.push(this.download); };
addEventListener("load", async () => {
  const found = {};
  try {
    const chart = document.querySelector("#waterfall svg.chart");
    const tools = chart.previousElementSibling;
    const buttons = [...tools.querySelectorAll("button")];
    const button = (text) => buttons.find((one) => one.textContent === text);
    const view = () => chart.getAttribute("viewBox").split(" ").map(Number);
    found.tools = document.querySelectorAll(".tools").length;
    found.charts = document.querySelectorAll("svg.chart").length;
    found.label = [tools.getAttribute("role"), tools.getAttribute("aria-label")];
    found.height = tools.getBoundingClientRect().height;
    found.views = [view()];
    found.disabled = [button("whole").disabled];
    button("+").click();
    button("+").click();
    found.views.push(view());
    const key = (key) => chart.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    key("ArrowRight");
    found.views.push(view());
    const drag = { buttons: 1, movementX: 30, bubbles: true };
    chart.dispatchEvent(new PointerEvent("pointermove", drag));
    found.views.push(view());
    const box = chart.getBoundingClientRect();
    const corner = { clientX: box.left, clientY: box.top };
    const wheel = { ctrlKey: true, deltaY: -1, cancelable: true, ...corner };
    chart.dispatchEvent(new WheelEvent("wheel", wheel));
    found.views.push(view());
    button("SVG").click();
    button("CSV").click();
    found.zoomed = view();
    key("0");
    found.views.push(view());
    found.disabled.push(button("whole").disabled);
    const [svg, csv] = await Promise.all(blobs.map((blob) => blob.text()));
    const read = new DOMParser().parseFromString(svg, "image/svg+xml");
    found.saved = {
      errors: read.querySelectorAll("parsererror").length,
      view: read.documentElement.getAttribute("viewBox").split(" ").map(Number),
      marks: read.documentElement.querySelectorAll("[data-ns]").length,
      drawn: chart.querySelectorAll("[data-ns]").length,
      styled: read.querySelector("style").textContent.includes(".chart text"),
    };
    found.csv = csv;
    found.names = names;
  } catch (error) { thrown.push(String(error)); }
  found.thrown = thrown;
  found.wide = document.documentElement.scrollWidth > innerWidth;
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify(found);
  document.body.append(probe);
});
</script>"##;

#[test]
fn charts_are_looked_at_closely_and_saved() {
    let written = of_a_program();
    for width in [1280, 390] {
        let (found, page) = browse(written, CLOSER, width);
        assert_eq!((&found["thrown"], &found["wide"]), (&serde_json::json!([]), &false.into()));
        assert_eq!(found["tools"], found["charts"], "each chart has its tools: {found:#}");
        assert_eq!(found["label"][0], "toolbar");
        assert!(value(&found["height"]) > 10.0, "{found:#}");
        let views: Vec<Vec<f64>> = serde_json::from_value(found["views"].clone()).unwrap();
        let [whole, closer, right, dragged, wheel, again] = &views[..] else { panic!("{views:?}") };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs().max(1.0);
        assert!(near(closer[2] * 2.25, whole[2]) && near(closer[3] * 2.25, whole[3]), "{views:?}");
        assert!(near(closer[0] + closer[2] / 2.0, whole[0] + whole[2] / 2.0), "{views:?}");
        assert!(right[0] > closer[0] && near(right[2], closer[2]), "{views:?}");
        assert!(dragged[0] < right[0] && near(dragged[2], closer[2]), "{views:?}");
        // The place under the wheel stays where it is, but for parts of a pixel that an event has not.
        let pixel = dragged[2] / 300.0;
        assert!(near(wheel[2] * 1.5, dragged[2]), "{views:?}");
        assert!((wheel[0] - dragged[0]).abs() < pixel, "{views:?}");
        assert_eq!((again, &found["disabled"]), (whole, &serde_json::json!([true, true])));
        let saved = &found["saved"];
        assert_eq!((&saved["errors"], &saved["styled"]), (&0.into(), &true.into()), "{saved:#}");
        assert_eq!((&saved["view"], &saved["marks"]), (&found["zoomed"], &saved["drawn"]));
        // A line for each step that is drawn, with its number.
        let steps = all(&page, "#waterfall svg.chart [data-ns]");
        let first = value(&saved["drawn"]) as usize;
        assert!(first > 5 && steps.len() >= first, "{first} of {}", steps.len());
        let csv = found["csv"].as_str().unwrap();
        assert_eq!(csv.lines().count(), first + 1, "{csv}");
        assert!(csv.lines().next().unwrap().split(',').any(|name| name == "ns"), "{csv}");
        for step in &steps[..first] {
            assert!(csv.contains(step.attr("data-ns").unwrap()), "{} in {csv}", step.html());
        }
        let names = found["names"].as_array().unwrap();
        assert!(names[0].as_str().unwrap().ends_with(".svg"), "{names:?}");
        assert!(names[1].as_str().unwrap().ends_with(".csv"), "{names:?}");
    }
}

//! All pages in a browser, wide and narrow: nothing is cut off, bars have the length of their numbers, and
//! buttons have names.

use super::kinds::{all_kinds, Kind};
use super::opened;
use serde_json::Value;

/// Script of the survey: each page in a frame of each width, one after the other; `look` returns what is
/// found in it.
const SURVEY: &str = r##"
const settle = (frame) => new Promise((done) => {
  frame.addEventListener("load", () => setTimeout(() => done(frame), 80), { once: true });
});
addEventListener("load", async () => {
  const found = [];
  for (const { line, text } of pages) {
    for (const width of widths) {
      const frame = document.createElement("iframe");
      frame.style = `width: ${width}px; height: 900px; border: 0`;
      const loaded = settle(frame);
      frame.srcdoc = text;
      document.body.append(frame);
      await loaded;
      let own;
      try { own = await look(frame.contentWindow, frame.contentDocument); }
      catch (error) { own = [String(error.stack ?? error)]; }
      found.push({ line, width, found: own });
      frame.remove();
    }
  }
  document.body.replaceChildren();
  for (const script of document.querySelectorAll("script")) script.remove();
  const told = document.createElement("pre");
  told.id = "probe";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
});
"##;

/// Findings of `look`, a script, on each page at each width; `dark` is the colour scheme.
pub fn survey(kinds: &[Kind], look: &str, dark: bool) -> Vec<Value> {
    let pages: Vec<Value> = kinds
        .iter()
        .map(|kind| serde_json::json!({ "line": kind.line, "text": kind.text }))
        .collect();
    // In a script of the outer page nothing ends it but its own end.
    let pages =
        serde_json::to_string(&pages).unwrap().replace("</", "<\\/").replace("<!--", "<\\!--");
    let text = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><title>survey</title></head><body><script>\n\
         const pages = {pages};\n\
         const widths = [1280, 390];\n{look}\n{SURVEY}</script></body></html>"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("survey.html");
    std::fs::write(&file, text).unwrap();
    let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
    let (found, _) = opened(&file, 1400, &[&scheme]);
    let found = found.as_array().unwrap().clone();
    assert_eq!(found.len(), 2 * kinds.len());
    found
}

/// Words of what is wrong on all pages.
#[track_caller]
pub fn assert_nothing(found: &[Value]) {
    let wrong: Vec<&Value> = found
        .iter()
        .filter(|one| one["found"].as_array().is_none_or(|own| !own.is_empty()))
        .collect();
    assert!(wrong.is_empty(), "{}", serde_json::to_string_pretty(&wrong).unwrap());
}

/// Text that is cut off, bars that are too long or short, names of buttons that are not their own.
const LOOK: &str = r##"
const look = (view, page) => {
  const wrong = [];
  const box = (part) => part.getBoundingClientRect();
  page.querySelectorAll("details").forEach((part) => { part.open = true; });
  if (page.documentElement.scrollWidth > view.innerWidth) wrong.push("wider than the window");
  const own = (part) => [...part.childNodes]
    .some((node) => node.nodeType === 3 && node.textContent.trim() !== "");
  for (const part of page.querySelectorAll("body *:not(svg *)")) {
    const style = view.getComputedStyle(part);
    const cuts = style.overflowX === "hidden" || style.overflowX === "clip";
    if (!cuts || !part.checkVisibility() || !part.textContent.trim()) continue;
    if (part.scrollWidth > part.clientWidth + 1) wrong.push(`cut off: ${part.textContent.trim()}`);
  }
  for (const chart of page.querySelectorAll("svg.chart")) {
    const [left, top, width, height] = chart.getAttribute("viewBox").split(" ").map(Number);
    if (!chart.checkVisibility() || box(chart).width === 0) continue;
    for (const text of chart.querySelectorAll("text")) {
      if (text.hasAttribute("transform") || !own(text)) continue;
      const { x, y, width: wide, height: high } = text.getBBox();
      const inside = x >= left - 1 && y >= top - 1 && x + wide <= left + width + 1
        && y + high <= top + height + 1;
      if (!inside) wrong.push(`outside of its chart: ${text.textContent}`);
    }
    // Marks of an axis are not written over one another.
    const rows = new Map();
    for (const tick of chart.querySelectorAll("text.tick")) {
      const place = tick.getBBox();
      const row = rows.get(place.y) ?? [];
      row.push([place.x, place.x + place.width, tick.textContent]);
      rows.set(place.y, row);
    }
    for (const row of rows.values()) {
      row.sort((a, b) => a[0] - b[0]);
      for (let at = 1; at < row.length; at += 1) {
        if (row[at][0] < row[at - 1][1]) {
          wrong.push(`${chart.getAttribute("aria-label")}: ${row[at - 1][2]} over ${row[at][2]}`);
        }
      }
    }
  }
  // In a table bars are as long as their numbers say.
  for (const table of page.querySelectorAll("#steps table.bars, #bars table.bars")) {
    const bars = [...table.querySelectorAll("tbody tr")].map((row) => {
      const told = Number(row.dataset.ns ?? row.dataset.us);
      return [told, box(row.querySelector(".stack")).width];
    });
    const [most] = [...bars].sort((a, b) => b[0] - a[0]);
    for (const [told, width] of bars) {
      const wanted = (most[1] * told) / most[0];
      if (Math.abs(width - wanted) > 2) wrong.push(`a bar of ${width}, not ${wanted}`);
    }
  }
  const names = [...page.querySelectorAll("button")].map((one) => one.getAttribute("aria-label"));
  if (new Set(names).size < names.length) wrong.push("two buttons have one name");
  for (const one of page.querySelectorAll("button")) {
    if (!one.getAttribute("aria-label").startsWith(one.textContent)) wrong.push(one.outerHTML);
  }
  // What can be moved sideways can be moved by keys.
  for (const part of page.querySelectorAll(".scroll")) {
    const wide = part.checkVisibility() && part.scrollWidth > part.clientWidth;
    if (wide && part.tabIndex < 0) wrong.push(`no keys reach ${part.textContent.slice(0, 60)}`);
  }
  return [...new Set(wrong)];
};
"##;

#[test]
fn nothing_is_cut_off_and_bars_have_their_length() {
    assert_nothing(&survey(all_kinds(), LOOK, false));
}

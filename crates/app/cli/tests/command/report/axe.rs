//! Pages as axe-core, the checker of accessibility, sees them: of every command and every machine, light and
//! dark, wide and narrow. scripts/bootstrap soak fetches it (docs/decisions/0163-axe-core.md).

use super::kinds::all_kinds;
use super::look::{assert_nothing, survey};
use crate::runner::root;

/// Runs axe-core in a page with everything unfolded, and tells each rule that is broken with its places.
const LOOK: &str = r##"
const look = async (view, page) => {
  page.querySelectorAll("details").forEach((part) => { part.open = true; });
  const script = page.createElement("script");
  script.textContent = axeSource;
  page.head.append(script);
  await new Promise((done) => setTimeout(done, 100));
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice",
    "experimental"];
  const options = { preload: false, resultTypes: ["violations"], runOnly: tags };
  const { violations, passes } = await view.axe.run(page, options);
  const told = violations.map(({ id, help, nodes }) => {
    const places = nodes.slice(0, 3).map((node) => `${node.target}: ${node.failureSummary}`);
    return `${id} (${nodes.length}): ${help}: ${places.join("; ")}`;
  });
  if (passes.length < 20) told.push(`only ${passes.length} rules were tried`);
  const scheme = view.matchMedia("(prefers-color-scheme: dark)");
  if (scheme.matches !== dark) told.push("the wrong scheme");
  return told;
};
"##;

#[test]
#[ignore = "axe-core and minutes: make soak"]
fn axe_finds_nothing_on_any_page() {
    let file = root().join("build/axe/node_modules/axe-core/axe.min.js");
    let source =
        std::fs::read_to_string(&file).expect("axe-core, which scripts/bootstrap soak fetches");
    let source =
        serde_json::to_string(&source).unwrap().replace("</", "<\\/").replace("<!--", "<\\!--");
    for dark in [false, true] {
        let look = format!("const dark = {dark};\nconst axeSource = {source};\n{LOOK}");
        assert_nothing(&survey(all_kinds(), &look, dark));
    }
}

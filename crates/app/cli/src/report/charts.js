// Charts can be looked at closely and taken along: buttons, keys, the wheel with Ctrl and dragging change the
// part that is shown; SVG is what one sees, CSV the numbers of all marks.
(() => {
  const GROW = 1.5;
  const MOST = 40;
  const between = (least, number, most) => Math.min(Math.max(number, least), most);
  const save = (text, type, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const picture = (chart) => {
    const copy = chart.cloneNode(true);
    const [, , width, height] = copy.getAttribute("viewBox").split(" ");
    for (const name of ["tabindex"]) copy.removeAttribute(name);
    copy.classList.remove("zoomed");
    for (const [name, value] of Object.entries({ width, height })) copy.setAttribute(name, value);
    // The serializer names the namespace that the drawing has in the page.
    const style = document.createElementNS(chart.namespaceURI, "style");
    style.textContent = document.querySelector("head style").textContent;
    copy.prepend(style);
    return new XMLSerializer().serializeToString(copy);
  };
  const marksOf = (chart) =>
    [...chart.querySelectorAll("*")].filter((mark) => Object.keys(mark.dataset).length > 0);
  const numbers = (marks) => {
    const names = [...new Set(marks.flatMap((mark) => Object.keys(mark.dataset)))];
    const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const rows = marks.map((mark) => names.map((name) => cell(mark.dataset[name] ?? "")));
    return [names, ...rows].map((row) => `${row.join(",")}\n`).join("");
  };
  for (const chart of document.querySelectorAll("svg.chart")) {
    const [left, top, width, height] = chart.getAttribute("viewBox").split(" ").map(Number);
    const title = chart.getAttribute("aria-label") ?? "chart";
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.setAttribute("role", "toolbar");
    tools.setAttribute("aria-label", title);
    let [x, y, scale] = [left, top, 1];
    const button = (text, label, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.title = label;
      // Names begin with what is seen, and no two charts have buttons of one name.
      made.setAttribute("aria-label", `${text}: ${label} (${title})`);
      made.addEventListener("click", act);
      tools.append(made);
      return made;
    };
    const middle = () => [x + width / scale / 2, y + height / scale / 2];
    const show = () => {
      x = between(left, x, left + width - width / scale);
      y = between(top, y, top + height - height / scale);
      chart.setAttribute("viewBox", `${x} ${y} ${width / scale} ${height / scale}`);
      chart.classList.toggle("zoomed", scale > 1);
      less.disabled = whole.disabled = scale === 1;
      more.disabled = scale === MOST;
    };
    const zoom = (factor, [atX, atY]) => {
      const next = between(1, scale * factor, MOST);
      x = atX - ((atX - x) * scale) / next;
      y = atY - ((atY - y) * scale) / next;
      scale = next;
      show();
    };
    const move = (right, down) => {
      [x, y] = [x + right, y + down];
      show();
    };
    const more = button("+", "Show less of it, larger", () => zoom(GROW, middle()));
    const less = button("−", "Show more of it", () => zoom(1 / GROW, middle()));
    const whole = button("whole", "Show all of it", () => zoom(0, middle()));
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 40).replace(/-$/, "");
    const svg = () => save(picture(chart), "image/svg+xml", `${name}.svg`);
    button("SVG", "Save what is shown as SVG", svg);
    const marks = marksOf(chart);
    if (marks.length > 0) {
      const csv = () => save(numbers(marks), "text/csv", `${name}.csv`);
      button("CSV", "Save the numbers as CSV", csv);
    }
    chart.before(tools);
    const unit = () => {
      const box = chart.getBoundingClientRect();
      return [width / scale / box.width, height / scale / box.height, box];
    };
    chart.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const [across, down, box] = unit();
      const at = [x + (event.clientX - box.left) * across, y + (event.clientY - box.top) * down];
      zoom(event.deltaY < 0 ? GROW : 1 / GROW, at);
    }, { passive: false });
    chart.addEventListener("pointermove", (event) => {
      if (scale === 1 || !(event.buttons & 1)) return;
      const [across, down] = unit();
      move(-event.movementX * across, -event.movementY * down);
    });
    chart.tabIndex = 0;
    chart.addEventListener("keydown", (event) => {
      const step = 0.2 / scale;
      const keys = {
        "+": () => zoom(GROW, middle()),
        "-": () => zoom(1 / GROW, middle()),
        0: () => zoom(0, middle()),
        ArrowLeft: () => move(-step * width, 0),
        ArrowRight: () => move(step * width, 0),
        ArrowUp: () => move(0, -step * height),
        ArrowDown: () => move(0, step * height),
      };
      const moves = event.key.startsWith("Arrow");
      const own = event.target === chart && !event.ctrlKey && !(moves && scale === 1);
      if (!own || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    show();
  }
})();

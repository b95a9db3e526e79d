"use strict";
// Points and bars tell their title at once where the pointer is, and stay to be read while it rests there.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const text = (target) => target.closest("[data-series],[data-published],[data-place],.own,.step,[data-tip]")
    ?.querySelector(":scope > title")?.textContent;
  addEventListener("pointermove", (event) => {
    const found = event.target instanceof Element ? text(event.target) : undefined;
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = found;
    const right = event.clientX + tip.offsetWidth + 24 > innerWidth;
    tip.style.left = `${right ? event.clientX - tip.offsetWidth - 12 : event.clientX + 14}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  // A link to something that is folded opens it, and all that it is in.
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) {
      if (part instanceof HTMLDetailsElement) part.open = true;
    }
    target.scrollIntoView();
    target.querySelector(":scope > summary")?.focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
    // Without a change of the address nobody else opens it.
    if (!link || link.hash !== location.hash) return;
    event.preventDefault();
    open();
  });
  open();
  // What is wider than its place is moved by keys, too, and has a name of its own.
  const scrolled = [...document.querySelectorAll(".scroll")];
  const heading = (part) => {
    for (let whole = part.parentElement; whole; whole = whole.parentElement) {
      const found = whole.querySelector(":scope > summary, :scope > h2, :scope > h3, :scope > h4");
      if (found) return found.textContent.trim();
    }
    return "page";
  };
  const names = scrolled.map((part) => `Wide part: ${heading(part)}`);
  names.forEach((name, at) => {
    const before = names.slice(0, at).filter((other) => other === name).length;
    scrolled[at].dataset.name = before ? `${name} (${before + 1})` : name;
  });
  const reach = (part) => {
    const wide = part.scrollWidth > part.clientWidth;
    if (wide === part.hasAttribute("tabindex")) return;
    const told = { tabindex: "0", role: "region", "aria-label": part.dataset.name };
    for (const [key, text] of Object.entries(told)) {
      if (wide) part.setAttribute(key, text);
      else part.removeAttribute(key);
    }
  };
  const sized = new ResizeObserver((all) => all.forEach((one) => reach(one.target)));
  scrolled.forEach((part) => { sized.observe(part); reach(part); });
  // What is folded is printed, too.
  const folded = () => document.querySelectorAll("details:not([open])");
  addEventListener("beforeprint", () => folded().forEach((part) => { part.open = true; }));
})();

// Collapses long texts to twelve lines, each with a button that shows all of it. A text is collapsible when the key of
// its container begins with "collapsible-". style.css hides the rest, by the attribute data-collapsed: "yes" or "open".
const MAX_LINES = 12;
// A text that is only a little longer stays open: a button for two lines is not worth a click.
const TOLERANCE = 2;

function collapse(box) {
  if (box.dataset.collapsed) return;
  const lineHeight = parseFloat(getComputedStyle(box).lineHeight) || 24;
  if (box.scrollHeight <= lineHeight * (MAX_LINES + TOLERANCE)) return;
  box.dataset.collapsed = "yes";
  box.style.setProperty("--collapsed-height", `${lineHeight * MAX_LINES}px`);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "collapse-button";
  const update = () => {
    const open = box.dataset.collapsed === "open";
    button.textContent = open ? "Show less" : "Show all";
    button.setAttribute("aria-expanded", String(open));
  };
  button.onclick = () => {
    box.dataset.collapsed = box.dataset.collapsed === "open" ? "yes" : "open";
    update();
  };
  update();
  box.after(button);
}

function reset(box) {
  if (box.nextElementSibling?.classList.contains("collapse-button")) box.nextElementSibling.remove();
  delete box.dataset.collapsed;
}

export default function ({ parentElement }) {
  const measuredTexts = new WeakMap();
  const collapseAll = () =>
    document.querySelectorAll('[class*="st-key-collapsible-"]').forEach((box) => {
      const text = box.textContent;
      if (measuredTexts.get(box) === text) return;
      // Streamlit reuses containers, so a changed text is measured again, unless the reader has opened it.
      if (measuredTexts.has(box) && box.dataset.collapsed !== "open") reset(box);
      measuredTexts.set(box, text);
      collapse(box);
    });
  parentElement.__collapsible?.disconnect();
  const observer = (parentElement.__collapsible = new MutationObserver(collapseAll));
  const main = document.querySelector('[data-testid="stMain"]') ?? document.body;
  observer.observe(main, { childList: true, subtree: true, characterData: true });
  collapseAll();
  return () => observer.disconnect();
}

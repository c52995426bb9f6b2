// Collapses long texts to twelve lines, and on a phone tall charts to their first rows, each with a button that shows
// all of it. A text is collapsible when the key of its container begins with "collapsible-", a chart when it begins with
// "tall-". style.css hides the rest, by the attribute data-collapsed: "yes" or "open".
const MAX_LINES = 12;
const CHART_HEIGHT = 460;
const NARROW = window.matchMedia("(max-width: 720px)");
// A text that is only a little longer stays open: a button for two lines is not worth a click.
const TOLERANCE = 2;

// The height of a collapsed box in pixels, and the height from which it is collapsed.
function limits(box) {
  if (isChart(box)) return [CHART_HEIGHT, NARROW.matches ? 1.4 * CHART_HEIGHT : Infinity];
  const lineHeight = parseFloat(getComputedStyle(box).lineHeight) || 24;
  return [lineHeight * MAX_LINES, lineHeight * (MAX_LINES + TOLERANCE)];
}

const isChart = (box) => box.className.includes("st-key-tall-");

function collapse(box) {
  if (box.dataset.collapsed) return;
  const [height, limit] = limits(box);
  if (box.scrollHeight <= limit) return;
  box.dataset.collapsed = "yes";
  box.style.setProperty("--collapsed-height", `${height}px`);
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
  // A chart gets its height without a change of the document that the other observer sees.
  const sizes = new ResizeObserver(() => collapseAll());
  const collapseAll = () =>
    document.querySelectorAll('[class*="st-key-collapsible-"], [class*="st-key-tall-"]').forEach((box) => {
      if (isChart(box)) [box, ...box.children].forEach((element) => sizes.observe(element));
      // A chart is drawn after its container, and its text changes with every hover.
      const text = isChart(box) ? `${box.scrollHeight} ${NARROW.matches}` : box.textContent;
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
  NARROW.addEventListener("change", collapseAll);
  collapseAll();
  return () => {
    observer.disconnect();
    sizes.disconnect();
    NARROW.removeEventListener("change", collapseAll);
  };
}

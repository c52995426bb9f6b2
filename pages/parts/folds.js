// Folds long texts to twelve lines, each with a button that shows all of it. A text is foldable when the key of its
// container begins with "fold-". The folding itself is in style.css, by the attribute data-folded: "yes" or "open".
const MAX_LINES = 12;
// A text that is only a little longer stays unfolded: a button for two lines is not worth a click.
const TOLERANCE = 2;

function fold(box) {
  if (box.dataset.folded) return;
  const lineHeight = parseFloat(getComputedStyle(box).lineHeight) || 24;
  if (box.scrollHeight <= lineHeight * (MAX_LINES + TOLERANCE)) return;
  box.dataset.folded = "yes";
  box.style.setProperty("--folded-height", `${lineHeight * MAX_LINES}px`);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold-button";
  const update = () => {
    const open = box.dataset.folded === "open";
    button.textContent = open ? "Show less" : "Show all";
    button.setAttribute("aria-expanded", String(open));
  };
  button.onclick = () => {
    box.dataset.folded = box.dataset.folded === "open" ? "yes" : "open";
    update();
  };
  update();
  box.after(button);
}

function unfold(box) {
  if (box.nextElementSibling?.classList.contains("fold-button")) box.nextElementSibling.remove();
  delete box.dataset.folded;
}

export default function ({ parentElement }) {
  const foldedTexts = new WeakMap();
  const foldAll = () =>
    document.querySelectorAll('[class*="st-key-fold-"]').forEach((box) => {
      const text = box.textContent;
      if (foldedTexts.get(box) === text) return;
      // Streamlit reuses containers, so a changed text is measured again, unless the reader has opened it.
      if (foldedTexts.has(box) && box.dataset.folded !== "open") unfold(box);
      foldedTexts.set(box, text);
      fold(box);
    });
  parentElement.__folds?.disconnect();
  const observer = (parentElement.__folds = new MutationObserver(foldAll));
  const main = document.querySelector('[data-testid="stMain"]') ?? document.body;
  observer.observe(main, { childList: true, subtree: true, characterData: true });
  foldAll();
  return () => observer.disconnect();
}

// Long texts are folded to twelve lines. A fold is any container whose key begins with "fold-".
const LINES = 12;

function fold(box) {
  if (box.dataset.folded) return;
  const line = parseFloat(getComputedStyle(box).lineHeight) || 24;
  if (box.scrollHeight <= line * (LINES + 2)) return;
  box.dataset.folded = "yes";
  box.style.setProperty("--folded-height", `${line * LINES}px`);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold-button";
  const write = () => {
    const open = box.dataset.folded === "open";
    button.textContent = open ? "Show less" : "Show all";
    button.setAttribute("aria-expanded", String(open));
  };
  button.onclick = () => {
    box.dataset.folded = box.dataset.folded === "open" ? "yes" : "open";
    write();
  };
  write();
  box.after(button);
}

function unfold(box) {
  if (box.nextElementSibling?.classList.contains("fold-button")) box.nextElementSibling.remove();
  delete box.dataset.folded;
}

export default function ({ parentElement }) {
  const seen = new WeakMap();
  const look = () =>
    document.querySelectorAll('[class*="st-key-fold-"]').forEach((box) => {
      const text = box.textContent;
      if (seen.get(box) === text) return;
      if (seen.has(box) && box.dataset.folded !== "open") unfold(box);
      seen.set(box, text);
      fold(box);
    });
  parentElement.__folds?.disconnect();
  const watch = (parentElement.__folds = new MutationObserver(look));
  const main = document.querySelector('[data-testid="stMain"]') ?? document.body;
  watch.observe(main, { childList: true, subtree: true, characterData: true });
  look();
  return () => watch.disconnect();
}

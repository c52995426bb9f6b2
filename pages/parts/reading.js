// Draws the texts of models and files on the pages with the module that the workbench draws them with. A page writes a text
// as the content of an element with the class "source"; its attributes have the marks and the images. V shows all texts
// of the page as they were written.

export default function ({ data, parentElement }) {
  const base = new URL(data.base, location.href).href;
  if (!document.querySelector("link[data-reading]")) {
    const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `${base}/markdown.css` });
    style.dataset.reading = "";
    document.head.append(style);
  }
  document.querySelector('[data-testid="stMain"]')?.setAttribute("lang", data.language); // of the whole page, it is the visitor's
  let stopped = false;
  const stop = [() => (stopped = true)];
  parentElement.__reading?.();
  parentElement.__reading = () => stop.forEach((one) => one());
  import(`${base}/text.js`).then(({ blockText, isRaw, toggleRaw, toUnits }) => {
    if (stopped) return;
    const draw = (node) => {
      node.__words ??= node.textContent;
      const raw = isRaw() && node.dataset.raw ? JSON.parse(node.dataset.raw) : null;
      const words = raw?.text ?? node.__words;
      const marks = (raw?.marks ?? JSON.parse(node.dataset.marks ?? "[]")).map((mark) => ({
        ...mark,
        after: mark.letter ? () => Object.assign(document.createElement("sup"), { textContent: mark.letter }) : null,
        start: toUnits(words, mark.start),
        end: toUnits(words, mark.end),
      }));
      const images = JSON.parse(node.dataset.images ?? "{}");
      const drawn = blockText({ format: node.dataset.plain ? "plain" : "markdown", text: words, images }, marks);
      node.dataset.drawn = "";
      node.className = `source ${drawn.className}`;
      node.replaceChildren(...drawn.childNodes);
    };
    const drawNew = () => document.querySelectorAll(".source:not([data-drawn])").forEach(draw);
    const pressed = (event) => {
      const field = event.target.closest?.("input, textarea, select, [contenteditable]");
      if (event.key.toLowerCase() !== "v" || event.ctrlKey || event.metaKey || event.altKey || field) return;
      if (document.querySelector("label-workbench")) return; // it has its own keys
      toggleRaw();
      document.querySelectorAll(".source").forEach(draw);
    };
    const observer = new MutationObserver(drawNew);
    observer.observe(document.body, { childList: true, subtree: true });
    document.addEventListener("keydown", pressed);
    stop.push(() => (observer.disconnect(), document.removeEventListener("keydown", pressed)));
    drawNew();
  });
  return parentElement.__reading;
}

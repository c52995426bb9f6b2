// Draws the transcript of an item on a page, with the module that the workbench draws it with. A click on a citation of a
// step, which is a link to #step-12, shows that step. The two transcripts of a pair are aligned.

const pairs = new Map(); // the name of a pair -> its transcript that was drawn first, until the second is

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  if (root.dataset.address !== data.address || root.dataset.disputed !== String(data.disputed)) {
    Object.assign(root.dataset, { address: data.address, disputed: String(data.disputed) });
    import(new URL(data.module, location.href).href).then(({ Transcript, align }) => {
      root.viewer = new Transcript(data.address, { disputed: data.disputed });
      root.replaceChildren(root.viewer.node);
      if (!data.pair) return;
      const other = pairs.get(data.pair);
      if (other && other !== root.viewer && other.node.isConnected) align(other, root.viewer);
      else pairs.set(data.pair, root.viewer);
    });
  }
  const cited = (event) => {
    const link = event.composedPath()[0].closest?.('a[href*="#step-"]');
    if (!link || !root.viewer) return;
    event.preventDefault();
    root.viewer.select(Number(link.hash.slice("#step-".length)));
    root.viewer.node.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("click", cited, { capture: true });
  return () => document.removeEventListener("click", cited, { capture: true });
}

"""Time until a transcript of 10,000 steps is on the screen, and blank areas while it scrolls in chromium.

python -m tests.bench.bench_transcripts [--steps N]. Draws the page of its trace, then the same transcript anew five
times in that page: the seconds from the request to the first frame with both lists. Then it scrolls both lists to 200
places, near and far, and counts the frames in which a place of the list has no row.
"""

import argparse
import statistics
from urllib.parse import quote

from playwright.sync_api import Page

from tests.bench.databases import temporary_database
from tests.bench.servers import open_window, serving
from tests.browser import transcripts
from tests.browser.conftest import TEST_BROWSER

OPEN = """async () => {
  const root = document.querySelector("[data-address]") ?? [...document.querySelectorAll("*")]
    .map((node) => node.shadowRoot?.querySelector("[data-address]")).find(Boolean);
  const { Transcript } = await import(new URL("/assets/workbench/transcript.js", location.href).href);
  const start = performance.now();
  const viewer = (window.viewer = new Transcript(root.dataset.address));
  root.replaceChildren(viewer.node);
  while (!viewer.content?.node.querySelector(".part")) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return (performance.now() - start) / 1000;
}"""
SCROLL = """async (places) => {
  const root = window.viewer.node.getRootNode();
  const result = { frames: 0, blank: 0, longest: 0 };
  for (const list of [window.viewer.spine.node, window.viewer.content.node]) {
    list.scrollIntoView({ block: "nearest" });
    for (let place = 0; place < places; place += 1) {
      const share = place % 2 ? ((place * 7919) % places) / places : place / places;
      const start = performance.now();
      list.scrollTop = share * (list.scrollHeight - list.clientHeight);
      await new Promise(requestAnimationFrame);
      const box = list.getBoundingClientRect();
      result.frames += 1;
      result.blank += [0.05, 0.5, 0.95].some((part) =>
        !root.elementFromPoint(box.x + 20, box.y + part * box.height)?.closest(".step, .part"));
      await new Promise(requestAnimationFrame);
      result.longest = Math.max(result.longest, performance.now() - start);
    }
  }
  return result;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=10_000)
    steps = parser.parse_args().steps
    with temporary_database() as database:
        trace = transcripts.plant(database.engine, steps)
        with serving(database) as served, open_window(served, "annotator 1", TEST_BROWSER) as window:
            page = window.new_page()
            page.set_default_timeout(60_000)
            page.goto(f"{served.address}/traces?trace={trace}&study={quote(transcripts.STUDY)}")
            measure(page, steps)


def measure(page: Page, steps: int) -> None:
    """Print the seconds until the steps are drawn, the frames without rows, and the longest frame."""
    page.get_by_text(f"{steps} steps").wait_for()
    page.wait_for_timeout(2000)
    seconds = [page.evaluate(OPEN) for _ in range(5)]
    print(f"open: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")
    found = page.evaluate(SCROLL, 200)
    print(f"scroll: {found['blank']} of {found['frames']} frames blank, longest {found['longest']:.0f} ms")


if __name__ == "__main__":
    main()

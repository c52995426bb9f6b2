"""Result pages in the browser: their choices in one line, no empty space on a phone."""

from urllib.parse import quote

SAMPLE, REVIEWS = quote("Sample: ScaleEval"), quote("Sample: ReFeR")
PHONE = {"width": 390, "height": 844}


def test_four_choices_are_in_one_line_on_a_wide_screen(visit, served):
    page = visit(f"{served.address}/judges?study={SAMPLE}")
    choices = page.locator(".st-key-choices > *")
    page.get_by_role("tab", name="Accuracy").wait_for()
    assert choices.count() == 5  # reference, criterion, scenario, missing verdicts, rule
    boxes = [choices.nth(place).bounding_box() for place in range(5)]
    bottoms = [box["y"] + box["height"] for box in boxes]
    assert max(bottoms) - min(bottoms) < 8
    assert boxes[-1]["x"] + boxes[-1]["width"] < 1440


def test_the_figures_of_peer_errors_follow_each_other_on_a_phone(visit, served):
    page = visit(f"{served.address}/peer_errors?study={REVIEWS}", viewport=PHONE)
    page.wait_for_function(
        """() => {
          const boxes = [...document.querySelectorAll(".st-key-headline > *")].map((one) => one.getBoundingClientRect());
          const gaps = boxes.slice(1).map((box, place) => box.top - boxes[place].bottom);
          return gaps.length === 2 && gaps.every((gap) => gap >= 0 && gap < 24);
        }"""
    )

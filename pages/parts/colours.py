"""Colours, each with one meaning on all pages; no meaning is conveyed by colour alone: a letter or a shape is next to
it.
"""

# Response 1, response 2, and neither (a tie).
RESPONSE = {1: "#0072B2", 2: "#E69F00", 0: "#8A8F98"}
TRUE, FALSE = "#009E73", "#D55E00"
UNDECIDED = "#CC79A7"
# The accent of the light and of the dark theme.
ACCENT, DARK_ACCENT = "#2457C5", "#4070DC"
# The low end of the colour scale in each theme.
PALE = {"light": "#E3EAF8", "dark": "#26303F"}
# One muted colour a judge, in the order of the settings.
JUDGES = ("#5B7B9A", "#9A7B5B", "#6B8E6B", "#8C6B8E", "#8E8E5B", "#5B8E8E", "#A06A6A", "#6A6AA0")
# Status of a trace -> its name, icon and badge colour.
STATUS = {
    "agreed": ("Agreed", ":material/check_circle:", "green"),
    "disputed": ("Disputed", ":material/balance:", "orange"),
    "no_verdict": ("No verdict", ":material/help:", "violet"),
    "running": ("Running", ":material/sync:", "blue"),
    "waiting": ("Waiting", ":material/schedule:", "gray"),
    "failed": ("Failed", ":material/error:", "red"),
}


def text_colour(colour: str) -> str:
    """Return white or near-black, whichever has the higher contrast on `colour`.

    At a luminance of 0.18 both have a contrast of about 4.6 : 1, above the 4.5 : 1 that WCAG 2 asks for.
    """
    return "#FFFFFF" if _luminance(colour) < 0.18 else "#111418"


def _luminance(colour: str) -> float:
    """Return the relative luminance of "#RRGGBB" as defined by WCAG 2, from 0 to 1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

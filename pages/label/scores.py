"""Score responses on a criterion: blind first, then with the judges' review."""

from pages.label.parts import workbench

workbench.draw_page("scores")

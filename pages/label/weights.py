"""Give weights to the aspects of a question: blind first, then with the judges' weights."""

from pages.label.parts import workbench

workbench.draw_page("weights")

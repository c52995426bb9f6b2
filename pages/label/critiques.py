"""Compare and rate critiques as a whole, and compare the answers that were refined by them; authors are hidden."""

from pages.label.parts import workbench

workbench.draw_page("critiques")

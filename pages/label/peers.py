"""Label which peer misled the chair of a review, after one's own score of its item."""

from pages.label.parts import workbench

workbench.draw_page("peers")

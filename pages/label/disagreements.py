"""Label disputed debates: first blind, then with the debate."""

from pages.label.parts import workbench

workbench.draw_page("disagreements")

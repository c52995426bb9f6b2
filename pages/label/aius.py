"""Label the AIUs of critiques: is each factual, and is each of the reference critique covered?"""

from pages.label.parts import workbench

workbench.draw_page("aius")

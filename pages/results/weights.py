"""How far weights are apart by rank, what raters weigh on average, and what comes of it."""

from pages.parts import shell

chosen = shell.opened("Weights", "How far people's aspect weights are apart, and the judges' from theirs.")

"""Improving a judge: the split of a study's items, variants with their evaluations, and versions of criteria."""

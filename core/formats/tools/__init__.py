"""Files of other annotation and evaluation tools: readers, and writers for Label Studio, Argilla and Inspect."""

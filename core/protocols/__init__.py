"""The published methods and their baselines, one package each; `registry` lists them."""

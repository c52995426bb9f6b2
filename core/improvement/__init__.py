"""Improving a judge from people's decisions: a split of the items, variants, and the rule that accepts one."""

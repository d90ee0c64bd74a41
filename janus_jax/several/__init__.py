"""Several models on the same examples: one plan, one split, one set of shuffles, a comparison."""

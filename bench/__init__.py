"""What the permutation engine costs, beside what a user would pick instead."""

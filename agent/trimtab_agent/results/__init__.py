"""What runs have found, from what is recorded of them: outcomes, analyses, comparisons, files."""

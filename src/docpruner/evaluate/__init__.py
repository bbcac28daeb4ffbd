"""What pruning costs and saves, measured on pages with questions and their answers."""

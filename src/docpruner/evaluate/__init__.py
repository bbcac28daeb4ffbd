"""What pruning costs and saves: measures of every setting, on data with questions and answers."""

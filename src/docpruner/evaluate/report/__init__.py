"""What was measured, as people read it: tables, figures, sentences and one HTML file."""

"""`docpruner explain`: what was kept of pages, and why they matched, as pictures and figures."""

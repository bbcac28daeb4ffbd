"""Files to pages: what stands on them, and how to draw them."""

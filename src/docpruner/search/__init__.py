"""Questions to hits: which pages answer, and where on them."""

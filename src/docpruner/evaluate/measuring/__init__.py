"""From a data set to figures: encoded once, then measured under every setting."""

"""An index in the browser: a small HTTP API over the facade, and a page that uses it."""

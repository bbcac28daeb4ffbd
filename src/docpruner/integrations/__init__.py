"""docpruner inside other libraries: one module for each, which needs that library to import."""

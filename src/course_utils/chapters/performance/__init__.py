"""Chapter 16's own helpers: a file for each exercise or topic."""

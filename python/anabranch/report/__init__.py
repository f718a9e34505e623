"""Results for people: figures, terminal tables, HTML pages, comparisons."""

"""Data of pages that one explores: what scripts of a report draw, thinned so that a page stays small."""

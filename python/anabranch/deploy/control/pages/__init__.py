"""Pages of the controller: health, metrics, its state as JSON, and a page for people. Nothing here changes it."""

"""What the controller shows: health, metrics, its state as JSON, and a page for people. Nothing here changes it."""

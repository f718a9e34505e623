"""Keys of scenarios and studies as Python attributes, read from TOML and written to it."""

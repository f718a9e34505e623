"""JSON Schema of the files that people write, made of what their readers say about keys: for editors."""

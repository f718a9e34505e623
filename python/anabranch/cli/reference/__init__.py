"""Reference pages of the documentation, generated from the code: `python -m anabranch.cli.reference` writes them."""

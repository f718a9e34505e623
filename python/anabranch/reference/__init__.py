"""Reference pages of the documentation, generated from the code: `python -m anabranch.reference` writes them."""

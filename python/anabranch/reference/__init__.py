"""Reference pages of the documentation, made of the code: `python -m anabranch.reference` writes them."""

"""What a study has measured: cells, and what a measure comes to over them."""

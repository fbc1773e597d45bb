"""Making one adapter each from finished settings; the container says when."""

"""A target and its drafter assembled: cores, exactness, one window."""

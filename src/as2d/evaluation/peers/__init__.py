"""Other people's decoders, to compare with: the same weights, features, windows and threads."""

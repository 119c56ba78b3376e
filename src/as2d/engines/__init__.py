"""How tensors are computed; knows nothing of speech or drafting."""

"""Audio models: the contract, the store, and one folder a family."""

"""Recognisers from other packages (extras): they give text, not tokens, and draft for any target."""

"""Accept, align and stop rules (pure), and the loops that decode with them."""

"""From rows to figures: what windows add up to, how sure that is, who is compared with whom, and the report. Pure."""

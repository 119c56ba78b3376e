"""From a plan to rows: who is compared, one timed decode after another, and the journal that keeps what is measured."""

"""The weekly review: from counts of weeks to what changed, is it significant, and what to do. Pure."""

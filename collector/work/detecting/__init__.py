"""One file a kind of rule: what the counts of the moment say of each tool and server, as findings with their evidence."""

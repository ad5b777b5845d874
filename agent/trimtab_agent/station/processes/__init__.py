"""Programs that the station starts: children that never outlive it, as which user, with which priority."""

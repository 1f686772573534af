"""An artifact -> what Python calls: kept on disk, loaded into memory, called with checked arguments."""

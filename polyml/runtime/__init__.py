"""From an artifact to what Python calls: kept on disk, loaded into memory, called with checked arguments. The doors are
`loading.load.load` and `calling.entry.bind`.
"""

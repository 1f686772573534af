"""The mappings of a nest onto an array, by the names that users know and as they write them, and their order by what they cost."""

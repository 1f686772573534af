"""The choice of tiles for a nest: estimates of misses for all sizes, and simulation of the best. The entry is `choose.tiles`."""

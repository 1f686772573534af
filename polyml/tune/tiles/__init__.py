"""Which tiles of a nest miss least and which are fastest: estimates of all sizes, simulation of the best. The door is `choose.tiles`."""

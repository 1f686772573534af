"""The affine part: isl's scheduler, strongly connected components, fusion by traffic, shifting, distribution."""

"""Statements that data decide become regions: `region_building.region`, and loops that data end become loops of the model."""

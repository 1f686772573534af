"""Schedule tree -> loops: a scan of our own where domains are simple, isl's generator elsewhere, whose loops are proved to run the
schedule. The door is `build.build`.
"""

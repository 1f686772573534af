"""Schedule tree -> loops: polyml's own scan where domains are simple, isl's generator elsewhere, whose loops are proved to run the
schedule. The function to call is `build.build`.
"""

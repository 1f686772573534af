"""Programs that mix loops polyml compiles with statements that Python runs, compared with plain Python: values and identities."""

"""Running generated programs: `local` is the caller's side, the rest lives in the processes it starts.

::

    caller (local)  ──starts──▶  init: deadline, pipes, kill, clean-up  ──forks──▶  worker: the program

`wire` is what passes between them, `values` how arrays and structures travel, `previews`, `pictures` and `faults` what a
run leaves behind, `processes` and `workdir` how nothing of it stays.

This file imports nothing, because every run starts an interpreter that comes through here.
"""

"""Running generated programs: `local` and `sandboxed` are the caller's side, the rest lives in the processes it starts.

::

    caller (run) ──warm──▶ template ──forks──▶ init, first of its namespaces: deadline, pipes, kill, clean-up ──forks──▶ worker: the program
                 ──spawned──▶ init, a subreaper, where there are no namespaces ─────────────────────────────────forks──▶ worker

`starting` chooses between the two and says how firmly a run is held; `namespaces`, `landlock`, `seccomp` and `sandbox`
are what holds it, by way of `kernel`.
`wire` is what passes between them, `values` how arrays and structures travel, `previews`, `pictures` and `faults` what a
run leaves behind, `processes` and `workdir` how nothing of it stays.

This file imports nothing, because every run starts an interpreter that comes through here.
"""

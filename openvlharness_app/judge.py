"""The configuration of a judge: which model decides on free-form answers of an evaluation, and how it is reached."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

import attrs

from openvlharness_app.faults import ConfigurationError, Fault, Unfit, located, type_of
from openvlharness_app.kinds import HttpUrl, Key, Name, Omittable, VersionName
from openvlharness_app.placeholders import fill
from openvlharness_app.secret import Secret
from openvlharness_app.structuring import structured
from openvlharness_app.trees import plain
from openvlharness_app.yaml_lines import Document, parse_yaml, read_text

VERSION_KEY = "judge_config_version"
"""The key that tells a judge's configuration from an agent's."""


@attrs.frozen(kw_only=True)
class JudgeOverride:
    """Another judge for one benchmark; what is left out is as for the others.

    Attributes:
        model: what the service calls it.
        base: service root, `/v1` base or full Chat Completions endpoint.
        key: bearer key; with a `base` of its own, left out means none, so that no key goes to a foreign service.
        judge_prompt: name of the prompt.
    """

    model: Omittable[Name] = None
    base: Omittable[HttpUrl] = None
    key: Omittable[Key] = None
    judge_prompt: Omittable[Name] = None


@attrs.frozen(kw_only=True)
class JudgeSettings:
    """A judge.

    Attributes:
        judge_config_version: part of the names of evaluation runs.
        model: what the service calls the judge.
        base: service root, `/v1` base or full Chat Completions endpoint.
        key: bearer key; blank or `empty` sends none.
        judge_prompt: name of the prompt for search benchmarks; left out, each has its own.
        score_mode: confidence of boxes in grounding benchmarks; left out, the environment or the benchmark decides.
        by_benchmark: another judge for some benchmarks, by their ids.
    """

    judge_config_version: VersionName
    model: Name
    base: HttpUrl
    key: Key = Secret()
    judge_prompt: Omittable[Name] = None
    score_mode: Omittable[Literal["constant", "original"]] = None
    by_benchmark: Mapping[Name, JudgeOverride] = attrs.field(factory=dict, hash=False)

    def for_benchmark(self, benchmark: str) -> JudgeSettings:
        """The judge of one benchmark, with nothing left to be looked up."""
        own = self.by_benchmark.get(benchmark, JudgeOverride())
        elsewhere = own.base is not None and own.base != self.base
        return attrs.evolve(
            self,
            model=own.model or self.model,
            base=own.base or self.base,
            key=own.key if own.key is not None else Secret() if elsewhere else self.key,
            judge_prompt=own.judge_prompt or self.judge_prompt,
            by_benchmark={},
        )


def load_judge_config(
    source: str | os.PathLike[str] | Mapping[str, object], environment: Mapping[str, str] | None = None
) -> JudgeSettings:
    """The judge in a file, or in a mapping of the same shape.

    Args:
        source: path of a YAML file, or its content as a mapping.
        environment: what fills the placeholders; the variables of this process if left out.

    Raises:
        ConfigurationError: every fault.
    """
    try:
        if isinstance(source, Mapping):
            name, document = "judge", Document(tree=plain(source))
        else:
            name = os.fspath(source)
            document = parse_yaml(read_text(name))
    except Unfit as unfit:
        failure = Fault(key=name, expected=unfit.expected, got=unfit.got, line=unfit.line)
    else:
        return _judge_from(document, environment, name)
    raise ConfigurationError([failure])  # outside of the handler, so that nothing of the file hangs on it


def judge_from_yaml(text: str, environment: Mapping[str, str] | None = None, *, name: str = "YAML") -> JudgeSettings:
    """The judge in YAML text; `name` stands for the file in faults about the whole of it. Raises ConfigurationError."""
    try:
        document = parse_yaml(text)
    except Unfit as unfit:
        failure = Fault(key=name, expected=unfit.expected, got=unfit.got, line=unfit.line)
    else:
        return _judge_from(document, environment, name)
    raise ConfigurationError([failure])


def is_judge_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like a judge's configuration; one that cannot be read does not."""
    try:
        tree = parse_yaml(read_text(os.fspath(path))).tree
    except Unfit:
        return False
    return isinstance(tree, Mapping) and VERSION_KEY in tree


def _judge_from(document: Document, environment: Mapping[str, str] | None, name: str) -> JudgeSettings:
    tree = document.tree
    if not isinstance(tree, Mapping):
        if document.misfits:
            raise ConfigurationError(located(document.misfits, tree, document.lines))
        got = "nothing" if tree is None else type_of(tree)
        raise ConfigurationError([Fault(key=name, expected="a mapping of settings", got=got)])
    filled, unfilled = fill(tree, os.environ if environment is None else environment)
    judge, misfits = structured(filled, JudgeSettings)
    misfits = [*document.misfits, *unfilled, *misfits]
    if misfits or judge is None:
        raise ConfigurationError(located(misfits, tree, document.lines))
    return judge

"""The suite of the ReportStore port, bound to the directory store and to the double in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.ports.report_store import Reopen, ReportStoreContract
from openvlharness_adapters.files.report_store import DirectoryReportStore
from openvlharness_core.ports.store import ReportStore
from openvlharness_core.testing import InlineOffload, InMemoryReportStore


class TestDirectoryReportStore(ReportStoreContract):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return str(tmp_path / "run")

    @pytest.fixture
    def store(self) -> ReportStore:
        return DirectoryReportStore(InlineOffload())

    @pytest.fixture
    def reopen(self) -> Reopen:
        return lambda _: DirectoryReportStore(InlineOffload())


class TestInMemoryReportStore(ReportStoreContract):
    @pytest.fixture
    def store(self) -> ReportStore:
        return InMemoryReportStore()

    @pytest.fixture
    def reopen(self) -> Reopen:
        return lambda store: store

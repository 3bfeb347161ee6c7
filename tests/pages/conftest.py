"""Each session of AppTest asks all installed packages for components; ours has none in packages."""

from __future__ import annotations

import pytest
from streamlit.components.v2 import manifest_scanner


@pytest.fixture(autouse=True, scope="session")
def no_components_in_packages():
    patch = pytest.MonkeyPatch()
    patch.setattr(manifest_scanner, "scan_component_manifests", lambda *_: [])
    yield
    patch.undo()

"""Drives the app without a browser, by the labels that people see."""

from __future__ import annotations

import html
from pathlib import Path

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]


class Lab:
    """One session of the app on one page."""

    def __init__(self, page: str = "one_step", **query: str) -> None:
        self.at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=20)
        for name, value in query.items():
            self.at.query_params[name] = value
        self.at.run()
        if page != "one_step":
            self.go(page)
        self.sound()

    def sound(self) -> None:
        assert not self.at.exception, [e.value for e in self.at.exception]

    def run(self) -> Lab:
        self.at.run()
        self.sound()
        return self

    def go(self, page: str) -> Lab:
        self.at.switch_page(f"pages/{page}.py").run()
        self.sound()
        return self

    def _one(self, kind: str, label: str):
        found = [w for w in self.at.get(kind) if w.label == label]
        assert len(found) == 1, f"{len(found)} of {kind} “{label}”"
        return found[0]

    def has(self, kind: str, label: str) -> bool:
        return any(w.label == label for w in self.at.get(kind))

    def type(self, **fields: str) -> Lab:
        """Fill text fields and run once: tokens=…, p=…, q=…."""
        names = {"tokens": "Tokens", "p": "Target p", "q": "Draft q"}
        for field, text in fields.items():
            self._one("text_area", names[field]).set_value(text)
        return self.run()

    def field(self, label: str) -> str:
        return self._one("text_area", label).value

    def number(self, label: str, value: float) -> Lab:
        self._one("number_input", label).set_value(value)
        return self.run()

    def choose(self, label: str, option: str) -> Lab:
        self._one("selectbox", label).select(option)
        return self.run()

    def enter_as(self, way: str) -> Lab:
        (control,) = [c for c in self.at.get("button_group") if c.label == "Enter as"]
        control.set_value(way)
        return self.run()

    def press(self, label: str) -> Lab:
        self._one("button", label).click()
        return self.run()

    def switch(self, label: str, on: bool = True) -> Lab:
        self._one("toggle", label).set_value(on)
        return self.run()

    def tick(self, start: str) -> Lab:
        (box,) = [b for b in self.at.checkbox if b.label.startswith(start)]
        box.check()
        return self.run()

    def upload(self, name: str, data: bytes) -> Lab:
        self.at.get("file_uploader")[0].upload(name, data)
        return self.run()

    def set_bars(self, *texts: str | None, question: str = "one step") -> Lab:
        """What dragging or typing does: the component's state is a list of texts."""
        about = self.at.session_state[f"asked {question}"]
        self.at.session_state[f"bars {question} {about.round}"] = {"bars": list(texts)}
        return self.run()

    def predict(self, *texts: str, question: str = "one step") -> Lab:
        return self.set_bars(*texts, question=question).press("Commit prediction")

    @property
    def errors(self) -> list[str]:
        return [unescaped(e.value) for e in self.at.error]

    @property
    def words(self) -> str:
        """All prose on the page, as it reads."""
        kinds = ("title", "header", "markdown", "caption", "info", "success", "warning", "error")
        return "\n".join(unescaped(e.value) for kind in kinds for e in self.at.get(kind))

    @property
    def charts(self) -> list:
        return [chart.proto for chart in self.at.get("vega_lite_chart")]

    @property
    def tables(self) -> list:
        return [table.value for table in self.at.table]

    @property
    def metrics(self) -> dict[str, str]:
        return {metric.label: metric.value for metric in self.at.metric}


def unescaped(text: str) -> str:
    return html.unescape(text).replace("\u2060", "")

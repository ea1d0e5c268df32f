"""The documents of one device, each listed once and cited by a short key."""

from dataclasses import dataclass

from rooflint_report.evidence import Device, Document, Verdict


@dataclass(frozen=True)
class Entry:
    """A document under its key; `fact` if the spec names it, otherwise only golden claims do."""

    key: str
    document: Document
    fact: bool


class Register:
    """Keys of the spec's own sources, then c1, c2, … for documents that only claims cite."""

    def __init__(self, device: Device, verdicts: list[Verdict]) -> None:
        self.entries: dict[str, Entry] = {}
        self._by_document: dict[str, Entry] = {}
        for key, document in device["sources"].items():
            self._add(key, document, fact=True)
        for document in _claimed(device, verdicts):
            if document["document"] not in self._by_document:
                self._add(self._free_key(), document, fact=False)

    def of_key(self, key: str | None) -> Entry | None:
        """Find the entry that a fact names."""
        return self.entries.get(key or "")

    def of_document(self, document: str | None) -> Entry | None:
        """Find the entry of a document that a claim names."""
        return self._by_document.get(document or "")

    def _add(self, key: str, document: Document, *, fact: bool) -> None:
        entry = Entry(key, document, fact)
        self.entries[key] = entry
        self._by_document.setdefault(document["document"], entry)

    def _free_key(self) -> str:
        number = sum(not entry.fact for entry in self.entries.values()) + 1
        while f"c{number}" in self.entries:
            number += 1
        return f"c{number}"


def _claimed(device: Device, verdicts: list[Verdict]) -> list[Document]:
    """Documents that claims on the device cite, in the order of the claims."""
    cited = [(p["document"], p["grade"]) for item in (*device["peaks"], *device["memories"]) for p in item["published"]]
    sources = [v["expected"]["source"] for v in verdicts if v["expected"]]
    cited += [(source["document"], source["grade"]) for source in sources if source]
    return [{"document": document, "grade": grade, "url": None} for document, grade in cited if document]

"""A case that keeps artifacts."""

from pyworker.tests.worker import WorkerCase


class Kept(WorkerCase):
    """A case with one worker."""

    def setUp(self):
        self.worker = self.start()

    def kept(self, code):
        """Runs code that ends well; returns the headers of its artifacts."""
        answer = self.worker.run(code)
        self.assertTrue(answer.ok, answer.done.get("exception"))
        return [header for header, _ in answer.artifacts]

    def one(self, code):
        """Runs code that keeps one artifact; returns (header, image or None)."""
        answer = self.worker.run(code)
        self.assertTrue(answer.ok, answer.done.get("exception"))
        self.assertEqual(1, len(answer.artifacts))
        header, attachments = answer.artifacts[0]
        return header, attachments[0] if attachments else None

    def text(self, header):
        with open(header["path"], encoding="utf-8") as file:
            return file.read()

    def refused(self, code):
        """Runs code that must raise; returns the last line of the traceback."""
        return self.failing(self.worker, code)["traceback"].rstrip().rpartition("\n")[2]


def artifact_size(png):
    """Returns (width, height) of a PNG."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")

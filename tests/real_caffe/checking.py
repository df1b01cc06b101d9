"""What the checks of a Caffe share: the library and the command, a prepared folder and its trainings."""

from pathlib import Path
from typing import Any

from training import prepare, train, Trained
from tree import Caffe, Finished


class Checks:
    """What is checked, and where."""

    iterations = 100

    def __init__(self, library: Path, program: Path, folder: Path) -> None:
        self.caffe = Caffe()
        self.library = library
        self.command = program
        self.folder = folder
        self.prepared = folder / "training"
        self.prepared.mkdir()
        prepare(self.prepared, self.iterations)
        self._trained: dict[bool, Trained] = {}

    def trained(self, ours: bool) -> Trained:
        """The training run with the original or with ours (calls counted); each is made once."""
        if ours not in self._trained:
            preload = self.library if ours else None
            self._trained[ours] = train(self.caffe, self.prepared, preload=preload, count_calls=ours)
        return self._trained[ours]

    def python(self, program: str, *arguments: str, ours: bool = True, library_path: str = "", **settings: str) -> Finished:
        """Runs one of our pycaffe programs; settings become environment variables."""
        preload = self.library if ours else None
        return self.caffe.python(self.folder, program, *arguments, preload=preload, library_path=library_path, settings=settings)

    def syncedmem(self, name: str, *arguments: str, folder: "Path | None" = None, **how: Any) -> Finished:
        """Runs the command: `run` and `doctor` on the library that is tested."""
        library = [f"--library={self.library}"] if name in ("run", "doctor") else []
        return self.caffe.run([str(self.command), name, *library, *arguments], folder or self.folder, **how)

"""The build of a wheel, which adds the answer page's component compressed by Brotli."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class Compressing(build_py):
    """Copies the packages and compresses the component; an editable install does neither."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        import brotli

        component = Path(self.build_lib, "privet", "page", "privet-answer.js")
        Path(f"{component}.br").write_bytes(brotli.compress(component.read_bytes()))


setup(cmdclass={"build_py": Compressing})
